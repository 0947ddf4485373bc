import { describeExecution, type ExecutionStore } from '../deliveries/execution-store.ts';
import type { Trigger } from './trigger-store.ts';

/** All bodies of one answer together; those beyond are null and can be had one by one. */
const MOST_BODY_BYTES = 100 * 1024 * 1024;

/** A trigger as the control API shows it, with those of its executions that are still kept, oldest first. */
export function describeTrigger(trigger: Trigger, executions: ExecutionStore, options: { bodies: boolean }) {
  let left = options.bodies ? MOST_BODY_BYTES : 0;
  const own = executions.list((one) => one.triggerId === trigger.id, Number.POSITIVE_INFINITY).reverse();
  return {
    ...summariseTrigger(trigger),
    executions: own.map((execution) => {
      left -= execution.message.length;
      return describeExecution(execution, { body: left >= 0 });
    }),
  };
}

export function summariseTrigger({ id, plan, progress, state }: Trigger) {
  return { id, state, event: plan.event, seed: plan.seed, at: plan.at, ...progress.report() };
}
