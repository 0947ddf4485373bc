import { SandboxError } from '../core/errors.ts';
import type { SubscriptionStore } from '../core/subscription-store.ts';
import type { Deliveries } from './deliver.ts';
import type { Execution } from './execution.ts';
import type { ExecutionStore } from './execution-store.ts';
import { keyOf } from './prepare-delivery.ts';

export type ReplayParts = {
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
export function replayExecution(id: string, parts: ReplayParts): Execution {
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
