import { HooklineError } from '../../core/errors.ts';
import { isUnfinished } from '../../subscriptions/subscription-record.ts';
import type { OperationContext, Settled } from './operation.ts';
import { checkOpens, secretsOf, toldKey, withTaken } from './sealed-keys.ts';
import {
  eventsOf,
  isCarriedOut,
  noteBegin,
  noteCall,
  noteTold,
  providerEvents,
  receiverUrl,
  storeState,
} from './subscription-state.ts';

/** Changes the events of a ref's subscription; without events it sends again what the provider should have. */
export async function updateSubscription(context: OperationContext): Promise<Settled> {
  const { command, session, subscriptions, dialect } = context;
  const before = subscriptions.get(command.ref);
  if (before?.state !== 'ACTIVE' || before.subscriptionId === null) throw new HooklineError('UNKNOWN_REF');
  const { subscriptionId } = before;
  // This very command, resumed after its state was stored and before its result was.
  if (isCarriedOut(context)) return { message: 'updated', subscriptionId };
  // The events of an adopted subscription may not be known: the field is then left out, which is not an empty list.
  const events = eventsOf(context) ?? (before.events.length > 0 ? before.events : null);
  const [keyInFile] = (await context.dirSecrets(command.ref)).encryptionKeys;
  const secrets = secretsOf(context, before);
  const encryptionKey = keyInFile ?? secrets?.encryptionKey;
  const told = toldKey(dialect, keyInFile, secrets);
  // Beside keys that nothing opens the new one cannot be kept.
  if (told !== secrets?.encryptionKey && told !== undefined) checkOpens(context, before);
  if (command.dryRun) {
    const which = events?.join(', ') ?? 'the events that it has';
    return { message: `dry run: would subscribe to ${which}`, subscriptionId };
  }
  const values = {
    ref: command.ref,
    url: receiverUrl(context, command.ref),
    events: providerEvents(context, events),
    subscriptionId,
    encryptionKey,
  };
  const noted = await noteTold(context, before, told);
  // Over an adoption that came to no end this call, too, may bring the subscription here: from now on it may still come.
  if (isUnfinished(before)) await noteCall(context, noted);
  else await noteBegin(context, noted);
  const outcome = await session.untilDone(() => session.api.update(subscriptionId, values, command.extra));
  if (outcome.judgement === 'gone')
    throw new HooklineError(
      'SUBSCRIPTION_NOT_FOUND',
      `${subscriptionId}: ${isUnfinished(before) ? 'delete the ref, then create it' : 'create it anew, with ifMatch'}`,
    );
  const { commandId: begunBy } = command;
  const updated = { state: 'ACTIVE', subscriptionId, events: events ?? [], begunBy } as const;
  // Sealed again, so that an old sealing key is needed no longer.
  await storeState(context, { ...updated, sealedKeys: withTaken(context, noted, updated, told) });
  return { message: 'updated', subscriptionId };
}
