import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../core/clock.ts';
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
export async function runTrigger(trigger: Trigger, signal: AbortSignal, parts: TriggerDeps): Promise<void> {
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

export type TriggerProgress = ReturnType<typeof trackProgress>;

/** Counts what becomes of a trigger's deliveries, and resolves when all have got so far. */
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
    /** Each delivery has had its first attempt. */
    firsts: firsts.promise,
    /** Each delivery has come to its end. */
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
    /** One that has no subscription any more. */
    skip(): void {
      counts.skipped += 1;
    },
    /** No more will follow. */
    close(): void {
      allSent = true;
      settle();
    },
    report: () => ({ ...counts, pending: withoutEnd, answers: { ...answers } }),
  };
}
