import { pause } from '../../runtime/clock.ts';
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
  /** Concurrent attempts for one subscription. */
  readonly concurrency: number;
};

export type DeliveryOrder = AttemptOrder & {
  readonly type: string | null;
  readonly entityId: string | null;
  readonly triggerId?: string;
  readonly replayOf?: string;
};

/** A delivery in progress: `first` resolves after the first attempt, `end` when its state is final. Neither rejects. */
export type Run = {
  readonly execution: Execution;
  readonly first: Promise<void>;
  readonly end: Promise<void>;
};

export type Deliveries = ReturnType<typeof createDeliveries>;

/** Delivers messages at least once, many at a time, and records each as an execution. */
export function createDeliveries(deps: DeliveryPorts) {
  const attemptDeps = { ...deps, limiter: createLimiter(deps.concurrency) };
  const running = new Set<Promise<void>>();
  let cancels = { waits: new AbortController(), sends: new AbortController() };

  const finish = (execution: Execution, state: ExecutionState) => {
    execution.state = state;
    deps.executions.finish(execution);
    if (state !== 'failed') return;
    const { id, subscriptionId, attempts } = execution;
    const { status = null, error = null } = attempts.at(-1) ?? {};
    const outcome = { executionId: id, subscriptionId, attempts: attempts.length, status, error };
    deps.logger.warn(outcome, 'delivery failed after its last attempt');
  };

  return {
    /** Starts a delivery. Wait for `capacity` of the execution store first. */
    fire(order: DeliveryOrder): Run {
      const { type, entityId, message, sealing, subscription, triggerId = null, replayOf = null } = order;
      const { id: subscriptionId, url } = subscription;
      const execution = newExecution(
        { subscriptionId, url, type, entityId, message, sealing, triggerId, replayOf },
        deps.clock.wall(),
      );
      deps.executions.add(execution);
      const first = Promise.withResolvers<void>();
      const signals = { waits: cancels.waits.signal, sends: cancels.sends.signal };
      const context = { cancels: signals, firstDone: first.resolve };
      const end = attemptUntilFinal(execution, order, context, attemptDeps)
        .catch((err): ExecutionState => {
          deps.logger.error({ executionId: execution.id, err }, 'delivery could not be prepared');
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
    /** Cancels every delivery; attempts in progress have `graceMs` to end by themselves. */
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
  /** Seconds to wait before each retry; after the last one the delivery has failed. */
  readonly retryScheduleS: readonly number[];
};

type AttemptOrder = Preparation & {
  readonly retry: boolean;
  readonly onAttempt?: (attempt: Attempt) => void;
  /** The delivery starts after this, so that a caller can keep an order. */
  readonly after?: Promise<unknown>;
};

/** `waits` cancels a delivery between two attempts, `sends` during one. */
type Cancels = { readonly waits: AbortSignal; readonly sends: AbortSignal };

/**
 * Sends the same bytes until a 2xx, a 410 or the end of the schedule, and returns the final state. Each attempt uses the
 * subscription's current URL; a deleted or inactive subscription cancels the delivery.
 */
async function attemptUntilFinal(
  execution: Execution,
  order: AttemptOrder,
  context: { cancels: Cancels; firstDone: () => void },
  deps: AttemptDeps,
): Promise<ExecutionState> {
  const { waits } = context.cancels;
  await order.after;
  for (let retries = 0; ; retries++) {
    const attempt = await deps.limiter.run(execution.subscriptionId, () =>
      attemptOnce(execution, order, context.cancels, deps),
    );
    if (!attempt) return 'cancelled';
    order.onAttempt?.(attempt);
    const state = stateAfter(attempt, order.retry && retries < deps.retryScheduleS.length);
    if (state === 'delivered') return state;
    if (waits.aborted) return 'cancelled';
    if (state === 'failed') return state;
    execution.state = state;
    context.firstDone();
    const waitMs = (deps.retryScheduleS[retries] ?? 0) * 1000;
    execution.nextAttemptAt = new Date(deps.clock.wall() + waitMs).toISOString();
    await pause(deps.clock, waitMs, waits);
    execution.nextAttemptAt = null;
  }
}

/** One attempt, or null if the delivery is cancelled or its subscription is gone or inactive. */
async function attemptOnce(
  execution: Execution,
  order: AttemptOrder,
  { waits, sends }: Cancels,
  deps: AttemptDeps,
): Promise<Attempt | null> {
  const subscription = deps.subscriptions.get(execution.subscriptionId);
  if (waits.aborted || !subscription?.active) return null;
  execution.sent ??= await prepareDelivery(order);
  execution.url = subscription.url;
  const at = deps.clock.wall();
  const fault = deps.faults.take('delivery');
  const post = { ...execution.sent, url: subscription.url };
  const outcome = await sendAttempt(post, { fault, signal: sends }, deps);
  const attempt: Attempt = {
    number: execution.attempts.length + 1,
    at: new Date(at).toISOString(),
    durationMs: deps.clock.wall() - at,
    ...outcome,
  };
  execution.attempts.push(attempt);
  return attempt;
}

function stateAfter({ status }: Attempt, mayRetry: boolean): 'delivered' | 'failed' | 'retrying' {
  if (status !== null && status >= 200 && status <= 299) return 'delivered';
  // 410 Gone: the receiver does not want it any more.
  return status !== 410 && mayRetry ? 'retrying' : 'failed';
}

type Limiter = ReturnType<typeof createLimiter>;

/** Runs at most `limit` tasks of a key at a time, the others in order: a slow receiver does not delay the others. */
export function createLimiter(limit: number) {
  const queues = new Map<string, { running: number; waiting: (() => void)[] }>();

  const acquire = (key: string): Promise<void> | undefined => {
    const queue = queues.get(key) ?? { running: 0, waiting: [] };
    queues.set(key, queue);
    if (queue.running < limit) {
      queue.running += 1;
      return undefined;
    }
    return new Promise((resolve) => queue.waiting.push(resolve));
  };
  const release = (key: string) => {
    const queue = queues.get(key);
    if (!queue) return;
    // The next task takes over the slot, so `running` stays the same.
    const next = queue.waiting.shift();
    if (next) return next();
    queue.running -= 1;
    if (queue.running === 0) queues.delete(key);
  };

  return {
    async run<T>(key: string, task: () => Promise<T>): Promise<T> {
      await acquire(key);
      try {
        return await task();
      } finally {
        release(key);
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
 * Delivers the message of a former execution again, as a new execution. Interface, section 4.2: "The service retrieves
 * the payload it sent in that run and reuses it for the current callback. A new access token is negotiated if required."
 * It goes to the subscription's current URL, is encrypted again where it was encrypted, and is never tampered with.
 */
export function replayExecution(id: string, deps: ReplayDeps): Execution {
  const former = deps.executions.get(id);
  if (!former)
    throw new SandboxError('not_found', 'There is no execution with this id, or it is no longer kept.');
  const subscription = deps.subscriptions.get(former.subscriptionId);
  if (!subscription?.active)
    throw new SandboxError('not_found', "The execution's subscription does not exist any more.");
  if (former.sealing) keyOf(subscription);
  return deps.deliveries.fire({
    message: former.message,
    subscription,
    sealing: former.sealing,
    type: former.type,
    entityId: former.entityId,
    replayOf: former.id,
    retry: true,
    ...(deps.bearer ? { headers: { authorization: 'Bearer sandbox-replay-token' } } : {}),
  }).execution;
}
