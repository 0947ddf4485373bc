import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../core/clock.ts';
import type { Subscription, SubscriptionStore } from '../core/subscription-store.ts';
import type { Deliveries } from '../deliveries/deliver.ts';
import type { ExecutionStore } from '../deliveries/execution-store.ts';
import type { Message } from '../messages/make-message.ts';
import type { TriggerPlan } from './plan-trigger.ts';
import type { TriggerProgress } from './trigger-progress.ts';

export type TriggerParts = {
  readonly clock: Clock;
  readonly subscriptions: SubscriptionStore;
  readonly executions: ExecutionStore;
  readonly deliveries: Deliveries;
};

type Trigger = { readonly id: string; readonly plan: TriggerPlan; readonly progress: TriggerProgress };

/** Fires a trigger's messages at its rate, each to every target. Rejects when the signal aborts. */
export async function runTrigger(trigger: Trigger, signal: AbortSignal, parts: TriggerParts): Promise<void> {
  const { plan, progress } = trigger;
  const nextTurn = createPacer({ rate: plan.rate, clock: parts.clock, signal });
  const lastOf = new Map<string, Promise<void>>();

  const fire = (subscription: Subscription, message: Message) => {
    const entity = `${subscription.id} ${message.entityId}`;
    const after = plan.ordered ? lastOf.get(entity) : undefined;
    const run = parts.deliveries.fire({
      ...plan.preparation,
      subscription,
      message: message.bytes,
      type: message.type,
      entityId: message.entityId,
      triggerId: trigger.id,
      retry: plan.retry,
      onAttempt: progress.count,
      ...(after ? { after } : {}),
    });
    if (plan.ordered) {
      lastOf.set(entity, run.end);
      void run.end.then(() => lastOf.get(entity) === run.end && lastOf.delete(entity));
    }
    progress.follow(run);
  };

  for (let n = 0; n < plan.count; n++) {
    await nextTurn();
    const message = await plan.message(n);
    for (const target of plan.targets) {
      await parts.executions.room(message.bytes.length * (plan.preparation.sealing ? 2 : 1));
      signal.throwIfAborted();
      // As it is now: it may have moved, or gone, since the run began.
      const subscription = parts.subscriptions.get(target.id);
      if (subscription?.active) fire(subscription, message);
      else progress.skip();
    }
  }
}

/** Lateness that is caught up. More is forgiven, so that a pause isn't followed by a flood. */
const CAUGHT_UP_MS = 250;
/** Turns after which others get theirs, when nothing else makes us wait. */
const TURNS_IN_A_ROW = 32;

/**
 * Returns a function that resolves when the next turn is due: `rate` a second, evenly, or at once where it is null.
 * Over any stretch of t seconds there are at most rate × (t + 0.25) + 1 turns. Rejects when the signal aborts.
 */
export function createPacer(parts: { rate: number | null; clock: Clock; signal: AbortSignal }) {
  const { rate, clock, signal } = parts;
  let start: number | null = null;
  let turns = 0;
  return async function nextTurn(): Promise<void> {
    if (rate !== null) {
      start ??= clock.now();
      const due = start + (turns * 1000) / rate;
      const late = clock.now() - due;
      if (late > CAUGHT_UP_MS) start += late - CAUGHT_UP_MS;
      for (let early = -late; early > 0; early = due - clock.now()) {
        await clock.sleep(Math.ceil(early), signal);
      }
    }
    turns += 1;
    if (turns % TURNS_IN_A_ROW === 0) await setImmediate();
    signal.throwIfAborted();
  };
}
