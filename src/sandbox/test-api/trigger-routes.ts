import type { FastifyInstance } from 'fastify';
import { SandboxError } from '../core/errors.ts';
import { describeExecution, type ExecutionStore } from '../deliveries/execution-store.ts';
import { type PlanDeps, planTrigger } from './plan-trigger.ts';
import { TRIGGER_SCHEMA, type TriggerRequest } from './trigger-request.ts';
import type { Trigger, TriggerStore } from './trigger-store.ts';

export type TriggerRouteDeps = {
  readonly plans: PlanDeps;
  readonly triggers: TriggerStore;
  readonly executions: ExecutionStore;
};

type ById = { Params: { id: string }; Querystring: { bodies?: string } };

/** `POST /_sandbox/trigger`, and `GET` and `DELETE /_sandbox/triggers/{id}` to follow or cancel one. */
export function triggerRoutes(app: FastifyInstance, deps: TriggerRouteDeps): void {
  const { triggers, executions } = deps;
  const find = (id: string): Trigger => {
    const trigger = triggers.get(id);
    if (!trigger)
      throw new SandboxError('not_found', 'There is no trigger with this id, or it is no longer kept.');
    return trigger;
  };

  app.post<{ Body: TriggerRequest }>(
    '/_sandbox/trigger',
    { schema: { body: TRIGGER_SCHEMA } },
    async (request, reply) => {
      const trigger = triggers.start(await planTrigger(request.body, deps.plans));
      if (request.body.wait === false) {
        return reply.code(202).send({ ...summariseTrigger(trigger), executions: [] });
      }
      await waitFor(trigger, request.body);
      return describeTrigger(trigger, executions, { bodies: request.body.bodies });
    },
  );
  app.get<ById>('/_sandbox/triggers/:id', async (request) =>
    describeTrigger(find(request.params.id), executions, { bodies: request.query.bodies !== 'false' }),
  );
  app.delete<ById>('/_sandbox/triggers/:id', async (request, reply) => {
    find(request.params.id).cancel();
    return reply.code(204).send();
  });
}

/** Waits for the first attempt of every delivery (with `final`: its final state), at most `waitMs`. */
async function waitFor(trigger: Trigger, request: TriggerRequest): Promise<void> {
  const { progress } = trigger;
  const deadline = Promise.withResolvers<void>();
  const timer = setTimeout(deadline.resolve, request.waitMs);
  await Promise.race([request.wait === 'final' ? progress.ends : progress.firsts, deadline.promise]);
  clearTimeout(timer);
}

/** Bodies in one answer; further ones are null, `/_sandbox/executions/{id}` has them. */
const MAX_BODY_BYTES = 100 * 1024 * 1024;

/** A trigger as the test API shows it, with its executions that are still kept, oldest first. */
function describeTrigger(trigger: Trigger, executions: ExecutionStore, options: { bodies: boolean }) {
  let left = options.bodies ? MAX_BODY_BYTES : 0;
  const own = executions.list((one) => one.triggerId === trigger.id, Number.POSITIVE_INFINITY).reverse();
  return {
    ...summariseTrigger(trigger),
    executions: own.map((execution) => {
      left -= execution.message.length;
      return describeExecution(execution, { body: left >= 0 });
    }),
  };
}

function summariseTrigger({ id, plan, progress, state }: Trigger) {
  return { id, state, event: plan.event, seed: plan.seed, at: plan.at, ...progress.report() };
}
