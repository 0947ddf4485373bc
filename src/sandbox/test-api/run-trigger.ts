import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../../runtime/clock.ts';
import type { Subscription, SubscriptionStore } from '../core/subscription-store.ts';
import type { Deliveries, Run } from '../deliveries/deliver.ts';
import type { Attempt, ExecutionStore } from '../deliveries/execution-store.ts';
import type { Message } from '../messages/make-message.ts';
import type { TriggerPlan } from './plan-trigger.ts';

export type TriggerDeps = {
  readonly clock: Clock;
  readonly subscriptions: SubscriptionStore;
  readonly executions: ExecutionStore;
  readonly deliveries: Deliveries;
};

type Trigger = { readonly id: string; readonly plan: TriggerPlan; readonly progress: TriggerProgress };

/** Fires a trigger's messages at its rate, each to every target. Rejects when the signal aborts. */
export async function runTrigger(trigger: Trigger, signal: AbortSignal, deps: TriggerDeps): Promise<void> {
  const { plan, progress } = trigger;
  const nextFiring = createRate({ rate: plan.rate, clock: deps.clock, signal });
  const lastOf = new Map<string, Promise<void>>();

  const fire = (subscription: Subscription, message: Message) => {
    const entity = `${subscription.id} ${message.entityId}`;
    const after = plan.ordered ? lastOf.get(entity) : undefined;
    const run = deps.deliveries.fire({
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
    await nextFiring();
    const message = await plan.message(n);
    for (const target of plan.targets) {
      await deps.executions.capacity(message.bytes.length * (plan.preparation.sealing ? 2 : 1));
      signal.throwIfAborted();
      // The current one: it may have changed, or been deleted, since the trigger started.
      const subscription = deps.subscriptions.get(target.id);
      if (subscription?.active) fire(subscription, message);
      else progress.skip();
    }
  }
}

/** Delay that is made up for. A longer one is not, so that a flood does not follow a pause. */
const MAX_CATCH_UP_MS = 250;
/** Firings in one turn of the event loop, when nothing else makes us wait. */
const FIRINGS_PER_TURN = 32;

/**
 * Returns a function that resolves when the next message is due: `rate` a second, evenly, or at once where it is null.
 * Any t seconds have at most rate × (t + 0.25) + 1 messages. Rejects when the signal aborts.
 */
export function createRate(deps: {
  rate: number | null;
  clock: Pick<Clock, 'wall' | 'sleep'>;
  signal: AbortSignal;
}) {
  const { rate, clock, signal } = deps;
  let start: number | null = null;
  let fired = 0;
  return async function nextFiring(): Promise<void> {
    if (rate !== null) {
      start ??= clock.wall();
      const due = start + (fired * 1000) / rate;
      const late = clock.wall() - due;
      if (late > MAX_CATCH_UP_MS) start += late - MAX_CATCH_UP_MS;
      for (let early = -late; early > 0; early = due - clock.wall()) {
        await clock.sleep(Math.ceil(early), { signal });
      }
    }
    fired += 1;
    if (fired % FIRINGS_PER_TURN === 0) await setImmediate();
    signal.throwIfAborted();
  };
}

export type TriggerProgress = ReturnType<typeof trackProgress>;

/** Counts a trigger's deliveries by their state; its promises resolve when all have reached a stage. */
export function trackProgress(planned: number) {
  const counts = { planned, sent: 0, skipped: 0, delivered: 0, failed: 0, cancelled: 0 };
  /** Attempts by the receiver's status; `none` where there was no answer. */
  const answers: Record<string, number> = {};
  const firsts = Promise.withResolvers<void>();
  const ends = Promise.withResolvers<void>();
  let withoutFirst = 0;
  let withoutEnd = 0;
  let allSent = false;
  const settle = () => {
    if (!allSent) return;
    if (withoutFirst === 0) firsts.resolve();
    if (withoutEnd === 0) ends.resolve();
  };
  return {
    /** Resolves when each delivery has had its first attempt. */
    firsts: firsts.promise,
    /** Resolves when the state of each delivery is final. */
    ends: ends.promise,
    follow({ execution, first, end }: Run): void {
      counts.sent += 1;
      withoutFirst += 1;
      withoutEnd += 1;
      void first.then(() => {
        withoutFirst -= 1;
        settle();
      });
      void end.then(() => {
        withoutEnd -= 1;
        const { state } = execution;
        if (state === 'delivered' || state === 'failed' || state === 'cancelled') counts[state] += 1;
        settle();
      });
    },
    count({ status }: Attempt): void {
      const name = status ?? 'none';
      answers[name] = (answers[name] ?? 0) + 1;
    },
    /** Counts a message whose subscription does not exist any more. */
    skip(): void {
      counts.skipped += 1;
    },
    /** Call this after the last delivery. */
    close(): void {
      allSent = true;
      settle();
    },
    report: () => ({ ...counts, pending: withoutEnd, answers: { ...answers } }),
  };
}
