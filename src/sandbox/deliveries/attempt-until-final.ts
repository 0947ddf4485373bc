import type { SubscriptionStore } from '../core/subscription-store.ts';
import type { FaultPlan } from '../faults/fault-plan.ts';
import type { Attempt, Execution, ExecutionState } from './execution.ts';
import type { Limiter } from './limit-concurrency.ts';
import { type Preparation, prepareDelivery } from './prepare-delivery.ts';
import { type SendParts, sendAttempt } from './send-attempt.ts';

export type AttemptParts = SendParts & {
  readonly subscriptions: SubscriptionStore;
  readonly faults: FaultPlan;
  readonly limiter: Limiter;
  /** Seconds to wait before each repeat; after the last one the delivery has failed. */
  readonly retryScheduleS: readonly number[];
};

export type AttemptOrder = Preparation & {
  readonly retry: boolean;
  readonly onAttempt?: (attempt: Attempt) => void;
  /** Waits for this first, so that a caller can keep an order. */
  readonly after?: Promise<unknown>;
};

/** Aborting `waits` ends a delivery between two attempts, `sends` in the midst of one. */
export type Cancels = { readonly waits: AbortSignal; readonly sends: AbortSignal };

/**
 * Sends the same bytes until a 2xx, a 410 or the schedule's end, and returns the state it came to. It is cancelled
 * when its subscription goes; it follows where its subscription moves.
 */
export async function attemptUntilFinal(
  execution: Execution,
  order: AttemptOrder,
  context: { cancels: Cancels; firstDone: () => void },
  parts: AttemptParts,
): Promise<ExecutionState> {
  const { waits } = context.cancels;
  await order.after;
  for (let repeat = 0; ; repeat++) {
    const attempt = await parts.limiter.run(execution.subscriptionId, () =>
      attemptOnce(execution, order, context.cancels, parts),
    );
    if (!attempt) return 'cancelled';
    order.onAttempt?.(attempt);
    const state = stateAfter(attempt, order.retry && repeat < parts.retryScheduleS.length);
    if (state === 'delivered') return state;
    if (waits.aborted) return 'cancelled';
    if (state === 'failed') return state;
    execution.state = state;
    context.firstDone();
    const waitMs = (parts.retryScheduleS[repeat] ?? 0) * 1000;
    execution.nextAttemptAt = new Date(parts.clock.now() + waitMs).toISOString();
    await parts.clock.sleep(waitMs, waits).catch(() => {});
    execution.nextAttemptAt = null;
  }
}

/** One attempt, or null where there is nothing to be attempted any more. */
async function attemptOnce(
  execution: Execution,
  order: AttemptOrder,
  { waits, sends }: Cancels,
  parts: AttemptParts,
): Promise<Attempt | null> {
  const subscription = parts.subscriptions.get(execution.subscriptionId);
  if (waits.aborted || !subscription?.active) return null;
  execution.sent ??= await prepareDelivery(order);
  execution.url = subscription.url;
  const at = parts.clock.now();
  const fault = parts.faults.take('delivery');
  const post = { ...execution.sent, url: subscription.url };
  const outcome = await sendAttempt(post, { fault, signal: sends }, parts);
  const attempt: Attempt = {
    number: execution.attempts.length + 1,
    at: new Date(at).toISOString(),
    durationMs: parts.clock.now() - at,
    ...outcome,
  };
  execution.attempts.push(attempt);
  return attempt;
}

function stateAfter({ status }: Attempt, mayRepeat: boolean): 'delivered' | 'failed' | 'retrying' {
  if (status !== null && status >= 200 && status <= 299) return 'delivered';
  // Gone: the receiver asks for no more of it.
  return status !== 410 && mayRepeat ? 'retrying' : 'failed';
}
