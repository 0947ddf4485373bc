import type { Logger } from '../../runtime/logger.ts';
import { SandboxError } from '../core/errors.ts';
import type { SubscriptionStore } from '../core/subscription-store.ts';
import type { FaultPlan } from '../faults/fault-plan.ts';
import {
  type Attempt,
  type Execution,
  type ExecutionState,
  type ExecutionStore,
  newExecution,
} from './execution-store.ts';
import { keyOf, type Preparation, prepareDelivery } from './prepare-delivery.ts';
import { type SendDeps, sendAttempt } from './send-attempt.ts';

export type DeliveryPorts = Omit<AttemptDeps, 'limiter'> & {
  readonly logger: Logger;
  readonly executions: ExecutionStore;
  /** Attempts under way to one subscription. */
  readonly concurrency: number;
};

export type DeliveryOrder = AttemptOrder & {
  readonly type: string | null;
  readonly entityId: string | null;
  readonly triggerId?: string;
  readonly replayOf?: string;
};

/** A delivery under way: `first` resolves after the first attempt, `end` when its state is final. Neither rejects. */
export type Run = {
  readonly execution: Execution;
  readonly first: Promise<void>;
  readonly end: Promise<void>;
};

export type Deliveries = ReturnType<typeof createDeliveries>;

/** Delivers messages at least once, many at a time, and records what becomes of each. */
export function createDeliveries(parts: DeliveryPorts) {
  const attemptParts = { ...parts, limiter: createLimiter(parts.concurrency) };
  const running = new Set<Promise<void>>();
  let cancels = { waits: new AbortController(), sends: new AbortController() };

  const finish = (execution: Execution, state: ExecutionState) => {
    execution.state = state;
    parts.executions.finish(execution);
    if (state !== 'failed') return;
    const { id, subscriptionId, attempts } = execution;
    const { status = null, error = null } = attempts.at(-1) ?? {};
    const outcome = { executionId: id, subscriptionId, attempts: attempts.length, status, error };
    parts.logger.warn(outcome, 'delivery failed for good');
  };

  return {
    /** Starts a delivery. Ask the execution store for room first. */
    fire(order: DeliveryOrder): Run {
      const { type, entityId, message, sealing, subscription, triggerId = null, replayOf = null } = order;
      const { id: subscriptionId, url } = subscription;
      const execution = newExecution(
        { subscriptionId, url, type, entityId, message, sealing, triggerId, replayOf },
        parts.clock.now(),
      );
      parts.executions.add(execution);
      const first = Promise.withResolvers<void>();
      const signals = { waits: cancels.waits.signal, sends: cancels.sends.signal };
      const context = { cancels: signals, firstDone: first.resolve };
      const end = attemptUntilFinal(execution, order, context, attemptParts)
        .catch((err): ExecutionState => {
          parts.logger.error({ executionId: execution.id, err }, 'delivery could not be prepared');
          return 'failed';
        })
        .then((state) => {
          finish(execution, state);
          running.delete(end);
          first.resolve();
        });
      running.add(end);
      return { execution, first: first.promise, end };
    },
    /** Ends every delivery; those being sent have `graceMs` to come to their end by themselves. */
    async cancelAll(graceMs = 0): Promise<void> {
      const { waits, sends } = cancels;
      cancels = { waits: new AbortController(), sends: new AbortController() };
      waits.abort(new Error('cancelled'));
      const timer = setTimeout(() => sends.abort(new Error('cancelled')), graceMs);
      await Promise.allSettled(running);
      clearTimeout(timer);
    },
  };
}

type AttemptDeps = SendDeps & {
  readonly subscriptions: SubscriptionStore;
  readonly faults: FaultPlan;
  readonly limiter: Limiter;
  /** Seconds to wait before each repeat; after the last one the delivery has failed. */
  readonly retryScheduleS: readonly number[];
};

type AttemptOrder = Preparation & {
  readonly retry: boolean;
  readonly onAttempt?: (attempt: Attempt) => void;
  /** Waits for this first, so that a caller can keep an order. */
  readonly after?: Promise<unknown>;
};

/** Aborting `waits` ends a delivery between two attempts, `sends` in the midst of one. */
type Cancels = { readonly waits: AbortSignal; readonly sends: AbortSignal };

/**
 * Sends the same bytes until a 2xx, a 410 or the schedule's end, and returns the state it came to. It is cancelled
 * when its subscription goes; it follows where its subscription moves.
 */
async function attemptUntilFinal(
  execution: Execution,
  order: AttemptOrder,
  context: { cancels: Cancels; firstDone: () => void },
  parts: AttemptDeps,
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
  parts: AttemptDeps,
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

type Limiter = ReturnType<typeof createLimiter>;

/** At most `limit` tasks at a time for each key, the others in the order they came: one slow receiver stops no other. */
export function createLimiter(limit: number) {
  const lanes = new Map<string, { running: number; queue: (() => void)[] }>();

  const enter = (key: string): Promise<void> | undefined => {
    const lane = lanes.get(key) ?? { running: 0, queue: [] };
    lanes.set(key, lane);
    if (lane.running < limit) {
      lane.running += 1;
      return undefined;
    }
    return new Promise((resolve) => lane.queue.push(resolve));
  };
  const leave = (key: string) => {
    const lane = lanes.get(key);
    if (!lane) return;
    // The place is handed on, so that `running` stays as it is.
    const next = lane.queue.shift();
    if (next) return next();
    lane.running -= 1;
    if (lane.running === 0) lanes.delete(key);
  };

  return {
    async run<T>(key: string, task: () => Promise<T>): Promise<T> {
      await enter(key);
      try {
        return await task();
      } finally {
        leave(key);
      }
    },
  };
}

type ReplayDeps = {
  readonly executions: ExecutionStore;
  readonly subscriptions: SubscriptionStore;
  readonly deliveries: Deliveries;
  /** Whether replays carry an Authorization header. */
  readonly bearer: boolean;
};

/**
 * Sends a former run's message again, as a run of its own: "The service retrieves the payload it sent in that run and
 * reuses it for the current callback. A new access token is negotiated if required." (4.2). It goes to where the
 * subscription points now, is sealed anew where it was sealed, and is sound even where the former one was tampered with.
 */
export function replayExecution(id: string, parts: ReplayDeps): Execution {
  const former = parts.executions.get(id);
  if (!former) throw new SandboxError('not_found', 'There is no execution with this id, or no more.');
  const subscription = parts.subscriptions.get(former.subscriptionId);
  if (!subscription?.active) throw new SandboxError('not_found', "The execution's subscription is gone.");
  if (former.sealing) keyOf(subscription);
  return parts.deliveries.fire({
    message: former.message,
    subscription,
    sealing: former.sealing,
    type: former.type,
    entityId: former.entityId,
    replayOf: former.id,
    retry: true,
    ...(parts.bearer ? { headers: { authorization: 'Bearer sandbox-replay-token' } } : {}),
  }).execution;
}
