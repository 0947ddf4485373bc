import { HooklineError } from '../../core/errors.ts';
import { eventNameOf } from '../../provider/event-names.ts';
import type { OperationContext, Settled } from '../control-parts.ts';
import { eventsOf, receiverUrl, serviceEvents } from '../receiver.ts';
import { storeState } from '../subscription-state.ts';
import { listItems } from './clear-address.ts';

/**
 * Takes over a subscription that exists, without recreating it. It is found by the subscription-id in SECRETS_DIR, or
 * by the ref's address; its signing secret must be there too, as nobody tells it a second time.
 */
export async function adoptSubscription(context: OperationContext): Promise<Settled> {
  const { command, session, subscriptions, dialect } = context;
  const before = subscriptions.get(command.ref);
  const dir = await context.dirSecrets(command.ref);
  if (dir.signingSecrets.length === 0) throw new HooklineError('KEYS_MISSING');
  const url = receiverUrl(context, command.ref);
  const [wantedId] = dir.subscriptionIds;
  const items = await listItems(context);
  const item = items.find((one) => (wantedId === undefined ? one.url === url : one.id === wantedId));
  if (!item) throw new HooklineError('SUBSCRIPTION_NOT_FOUND', wantedId ?? url);
  const subscriptionId = item.id;
  if (before?.state === 'ACTIVE' && before.subscriptionId !== subscriptionId)
    throw new HooklineError('REF_IN_USE');
  const events =
    eventsOf(context) ?? (item.events ?? []).map((event) => eventNameOf(dialect, event) ?? event);
  if (command.dryRun) return { message: `dry run: would adopt ${subscriptionId}`, subscriptionId };
  if (item.url !== url || command.events !== null) {
    const values = {
      ref: command.ref,
      url,
      events: serviceEvents(context, events),
      subscriptionId,
      encryptionKey: dir.encryptionKeys[0],
    };
    await session.untilDone(() => session.api.update(subscriptionId, values, command.extra));
  }
  await storeState(context, {
    state: 'ACTIVE',
    subscriptionId,
    events,
    sealedKeys: before?.sealedKeys ?? null,
  });
  return { message: 'adopted', subscriptionId };
}
