import { HooklineError } from '../../core/errors.ts';
import type { OperationContext, Settled } from '../control-parts.ts';
import { eventsOf, receiverUrl, serviceEvents } from '../receiver.ts';
import { secretsOf, storeState } from '../subscription-state.ts';

/** Changes the events of a ref's subscription; without events it tells the payment service again what it should have. */
export async function updateSubscription(context: OperationContext): Promise<Settled> {
  const { command, session, subscriptions } = context;
  const before = subscriptions.get(command.ref);
  if (before?.state !== 'ACTIVE' || before.subscriptionId === null) throw new HooklineError('UNKNOWN_REF');
  const { subscriptionId } = before;
  const events = eventsOf(context) ?? before.events;
  if (command.dryRun) return { message: `dry run: would subscribe to ${events.join(', ')}`, subscriptionId };
  const values = {
    ref: command.ref,
    url: receiverUrl(context, command.ref),
    events: serviceEvents(context, events),
    subscriptionId,
    encryptionKey: secretsOf(context, before)?.encryptionKey,
  };
  const outcome = await session.untilDone(() => session.api.update(subscriptionId, values, command.extra));
  if (outcome.judgement === 'gone')
    throw new HooklineError('SUBSCRIPTION_NOT_FOUND', `${subscriptionId}: delete and create it`);
  await storeState(context, { state: 'ACTIVE', subscriptionId, events, sealedKeys: before.sealedKeys });
  return { message: 'updated', subscriptionId };
}
