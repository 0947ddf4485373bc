import { randomUUID } from 'node:crypto';
import type { Logger } from '../../runtime/logger.ts';
import type { TriggerPlan } from './plan-trigger.ts';
import { runTrigger, type TriggerDeps, type TriggerProgress, trackProgress } from './run-trigger.ts';

export type Trigger = {
  readonly id: string;
  readonly plan: TriggerPlan;
  readonly progress: TriggerProgress;
  readonly cancel: () => void;
  /** `done`: every delivery is final; `cancelled`: stopped before the last message was sent. */
  state: 'running' | 'done' | 'cancelled';
};

export type TriggerStore = ReturnType<typeof createTriggerStore>;

const MAX_TRIGGERS = 200;

/** The triggers. Beyond {@link MAX_TRIGGERS} the oldest that do not run are forgotten. */
export function createTriggerStore(deps: TriggerDeps & { logger: Logger }) {
  const all = new Map<string, Trigger>();
  const running = new Set<Promise<void>>();

  const execute = async (trigger: Trigger, signal: AbortSignal) => {
    try {
      await runTrigger(trigger, signal, deps);
    } catch (err) {
      trigger.state = 'cancelled';
      if (!signal.aborted) deps.logger.error({ triggerId: trigger.id, err }, 'trigger failed');
    }
    trigger.progress.close();
    await trigger.progress.ends;
    if (trigger.state === 'running') trigger.state = 'done';
  };

  return {
    start(plan: TriggerPlan): Trigger {
      const controller = new AbortController();
      const trigger: Trigger = {
        id: randomUUID(),
        plan,
        progress: trackProgress(plan.count * plan.targets.length),
        cancel: () => controller.abort(new Error('cancelled')),
        state: 'running',
      };
      all.set(trigger.id, trigger);
      for (const old of all.values()) {
        if (all.size <= MAX_TRIGGERS) break;
        if (old.state !== 'running') all.delete(old.id);
      }
      const run = execute(trigger, controller.signal).then(() => void running.delete(run));
      running.add(run);
      return trigger;
    },
    get: (id: string) => all.get(id),
    /** Sends no further messages; deliveries in progress continue. */
    cancelAll(): void {
      for (const trigger of all.values()) trigger.cancel();
    },
    /** Forgets all of them. */
    clear(): void {
      all.clear();
    },
  };
}
