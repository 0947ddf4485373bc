import type { Dispatcher } from 'undici';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import type { SandboxOptions } from './config.ts';
import { createSubscriptionStore } from './core/subscription-store.ts';
import { createDeliveries, replayExecution } from './deliveries/deliver.ts';
import { createExecutionStore } from './deliveries/execution-store.ts';
import { createFaultPlan } from './faults/fault-plan.ts';
import { createMessageMaker } from './messages/message-maker.ts';
import { createTokenStore } from './provider-api/token-store.ts';
import { createRequestLog } from './test-api/request-log.ts';
import { createTriggerStore } from './test-api/trigger-store.ts';

export type SandboxDeps = ReturnType<typeof createSandboxComponents>;

/** Everything in a sandbox but its HTTP server: stores and deliveries, how to reset and how to stop them. */
export function createSandboxComponents(from: {
  options: SandboxOptions;
  logger: Logger;
  clock: Clock;
  client: Dispatcher;
}) {
  const { options, logger, clock, client } = from;
  const stop = new AbortController();
  const faults = createFaultPlan();
  const tokens = createTokenStore({ clock, ttlS: options.tokenTtlS });
  const subscriptions = createSubscriptionStore();
  const executions = createExecutionStore({ count: options.keepExecutions, bytes: options.keepBytes });
  const requests = createRequestLog();
  const messages = createMessageMaker();
  const deliveries = createDeliveries({
    client,
    clock,
    logger,
    subscriptions,
    executions,
    faults,
    timeoutMs: options.deliveryTimeoutMs,
    retryScheduleS: options.retryScheduleS,
    concurrency: options.deliveryConcurrency,
  });
  const triggers = createTriggerStore({ clock, logger, subscriptions, executions, deliveries });
  const replayDeps = { executions, subscriptions, deliveries, bearer: options.replayBearer };

  return {
    options,
    logger,
    clock,
    faults,
    tokens,
    subscriptions,
    executions,
    requests,
    messages,
    triggers,
    stopping: stop.signal,
    replay: (executionId: string) => replayExecution(executionId, replayDeps),
    /** Cancels what is in progress and forgets everything, as after a start. */
    async reset(): Promise<void> {
      triggers.cancelAll();
      await deliveries.cancelAll();
      triggers.clear();
      executions.clear();
      subscriptions.clear();
      tokens.revokeAll();
      faults.clear();
      requests.clear();
    },
    /** Cancels what is in progress; a receiver that has a request gets a second to answer it. */
    async stop(): Promise<void> {
      stop.abort(new Error('the sandbox is stopping'));
      triggers.cancelAll();
      await deliveries.cancelAll(1000);
      await messages.stop();
    },
  };
}
