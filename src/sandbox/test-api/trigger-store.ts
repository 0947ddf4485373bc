import { randomUUID } from 'node:crypto';
import type { Logger } from '../../runtime/logger.ts';
import type { TriggerPlan } from './plan-trigger.ts';
import { runTrigger, type TriggerDeps, type TriggerProgress, trackProgress } from './run-trigger.ts';

export type Trigger = {
  readonly id: string;
  readonly plan: TriggerPlan;
  readonly progress: TriggerProgress;
  readonly cancel: () => void;
  /** Firing messages; all fired and all at their end; stopped before that. */
  state: 'running' | 'done' | 'cancelled';
};

export type TriggerStore = ReturnType<typeof createTriggerStore>;

const KEPT = 200;

/** The triggers, running and past; of these the last {@link KEPT}. */
export function createTriggerStore(parts: TriggerDeps & { logger: Logger }) {
  const all = new Map<string, Trigger>();
  const running = new Set<Promise<void>>();

  const carryOut = async (trigger: Trigger, signal: AbortSignal) => {
    try {
      await runTrigger(trigger, signal, parts);
    } catch (err) {
      trigger.state = 'cancelled';
      if (!signal.aborted) parts.logger.error({ triggerId: trigger.id, err }, 'trigger broke off');
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
        if (all.size <= KEPT) break;
        if (old.state !== 'running') all.delete(old.id);
      }
      const run = carryOut(trigger, controller.signal).then(() => void running.delete(run));
      running.add(run);
      return trigger;
    },
    get: (id: string) => all.get(id),
    /** Stops the firing; deliveries that are on their way are not stopped. */
    cancelAll(): void {
      for (const trigger of all.values()) trigger.cancel();
    },
    /** Forgets all of them. */
    clear(): void {
      all.clear();
    },
  };
}
