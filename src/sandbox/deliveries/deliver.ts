import type { Logger } from '../../runtime/logger.ts';
import { type AttemptOrder, type AttemptParts, attemptUntilFinal } from './attempt-until-final.ts';
import { type Execution, type ExecutionState, newExecution } from './execution.ts';
import type { ExecutionStore } from './execution-store.ts';
import { createLimiter } from './limit-concurrency.ts';

export type DeliveryPorts = Omit<AttemptParts, 'limiter'> & {
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
