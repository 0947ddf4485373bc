import { HooklineError } from '../../core/errors.ts';
import { isUnfinished } from '../../subscriptions/subscription-record.ts';
import type { OperationContext, Settled } from './operation.ts';
import { resealed, secretsOf } from './sealed-keys.ts';
import {
  eventsOf,
  isCarriedOut,
  noteBegin,
  noteCall,
  providerEvents,
  receiverUrl,
  storeState,
} from './subscription-state.ts';

/** Changes the events of a ref's subscription; without events it sends again what the provider should have. */
export async function updateSubscription(context: OperationContext): Promise<Settled> {
  const { command, session, subscriptions } = context;
  const before = subscriptions.get(command.ref);
  if (before?.state !== 'ACTIVE' || before.subscriptionId === null) throw new HooklineError('UNKNOWN_REF');
  const { subscriptionId } = before;
  // This very command, resumed after its state was stored and before its result was.
  if (isCarriedOut(context)) return { message: 'updated', subscriptionId };
  // The events of an adopted subscription may not be known: the field is then left out, which is not an empty list.
  const events = eventsOf(context) ?? (before.events.length > 0 ? before.events : null);
  const [keyInFile] = (await context.dirSecrets(command.ref)).encryptionKeys;
  if (command.dryRun) {
    const which = events?.join(', ') ?? 'the events that it has';
    return { message: `dry run: would subscribe to ${which}`, subscriptionId };
  }
  const secrets = secretsOf(context, before);
  const values = {
    ref: command.ref,
    url: receiverUrl(context, command.ref),
    events: providerEvents(context, events),
    subscriptionId,
    encryptionKey: keyInFile ?? secrets?.encryptionKey,
  };
  // Over an adoption that came to no end this call, too, may bring the subscription here: from now on it may still come.
  if (isUnfinished(before)) await noteCall(context, before);
  else await noteBegin(context, before);
  const outcome = await session.untilDone(() => session.api.update(subscriptionId, values, command.extra));
  if (outcome.judgement === 'gone')
    throw new HooklineError(
      'SUBSCRIPTION_NOT_FOUND',
      `${subscriptionId}: ${isUnfinished(before) ? 'delete the ref, then create it' : 'create it anew, with ifMatch'}`,
    );
  const { commandId: begunBy } = command;
  const updated = { state: 'ACTIVE', subscriptionId, events: events ?? [], begunBy } as const;
  // Sealed again, so that an old sealing key is needed no longer.
  await storeState(context, { ...updated, sealedKeys: resealed(context, before, updated) });
  return { message: 'updated', subscriptionId };
}
