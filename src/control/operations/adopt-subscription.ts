import { HooklineError, hasCode } from '../../core/errors.ts';
import { signingPartFault } from '../../crypto/keys.ts';
import { eventNameOf } from '../../provider/dialect.ts';
import type { ListedItem } from '../../provider/provider-api.ts';
import type { DirSecrets } from '../../subscriptions/secrets-dir.ts';
import { type SubscriptionRecord, sealSecrets } from '../../subscriptions/subscription-record.ts';
import { listItems } from './clear-address.ts';
import type { OperationContext, Settled } from './operation.ts';
import {
  carriedSecrets,
  eventsOf,
  providerEvents,
  receiverUrl,
  resealed,
  secretsOf,
  storeState,
} from './subscription-state.ts';

/**
 * Takes over a subscription that exists, without recreating it. It is found by the subscription-id in SECRETS_DIR, or
 * by the ref's address; its signing secret must be there too, as nobody tells it a second time.
 */
export async function adoptSubscription(context: OperationContext): Promise<Settled> {
  const { command, subscriptions, dialect } = context;
  const before = subscriptions.get(command.ref);
  const dir = await context.dirSecrets(command.ref);
  if (dir.signingSecrets.length === 0) throw new HooklineError('KEYS_MISSING');
  const item = await findItem(context, dir);
  const subscriptionId = item.id;
  if (before?.state === 'ACTIVE' && before.subscriptionId !== subscriptionId)
    throw new HooklineError('REF_IN_USE');
  const listed = (item.events ?? []).map((event) => eventNameOf(dialect, event) ?? event);
  const events = eventsOf(context) ?? listed;
  if (command.dryRun) return { message: `dry run: would adopt ${subscriptionId}`, subscriptionId };
  const active = { state: 'ACTIVE', subscriptionId } as const;
  const adopted = { ...active, sealedKeys: keptKeys(context, before, active) };
  // Before the call: with its effect deliveries come here, and are verified by the id that the state has.
  await storeState(context, { ...adopted, events: listed });
  if (isToBeChanged(context, item)) {
    await changeItem(context, { item, before, encryptionKey: dir.encryptionKeys[0] });
    await storeState(context, { ...adopted, events });
  }
  return { message: 'adopted', subscriptionId };
}

async function findItem(context: OperationContext, dir: DirSecrets): Promise<ListedItem> {
  const url = receiverUrl(context, context.command.ref);
  const [wantedId] = dir.subscriptionIds;
  const items = await listItems(context);
  const item = items.find((one) => (wantedId === undefined ? one.url === url : one.id === wantedId));
  if (!item) throw new HooklineError('SUBSCRIPTION_NOT_FOUND', wantedId ?? url);
  const fault = signingPartFault(item.id);
  if (fault) throw new HooklineError('PROVIDER_ANSWER_INVALID', `the id ${fault}`);
  return item;
}

/** Keys of the ref that stay: this subscription's own, or those of deleted ones whose deliveries may be under way. */
function keptKeys(
  context: OperationContext,
  before: SubscriptionRecord | undefined,
  becomes: Pick<SubscriptionRecord, 'state' | 'subscriptionId'>,
): Buffer | null {
  if (!before) return null;
  if (before.state !== 'RETIRED' || before.subscriptionId === becomes.subscriptionId)
    return resealed(context, before, becomes);
  const carried = carriedSecrets(context, before);
  const owner = { ...becomes, ref: context.command.ref };
  return carried.previous ? sealSecrets(context.sealingKeys, owner, carried) : null;
}

function isToBeChanged(context: OperationContext, item: ListedItem): boolean {
  const { command } = context;
  const isElsewhere = item.url !== receiverUrl(context, command.ref);
  return isElsewhere || command.events !== null || Object.keys(command.extra).length > 0;
}

/** Without events of its own the command leaves those that the subscription has. */
async function changeItem(
  context: OperationContext,
  to: { item: ListedItem; before: SubscriptionRecord | undefined; encryptionKey: string | undefined },
): Promise<void> {
  const { command, session, records, lease } = context;
  const { item, before } = to;
  const values = {
    ref: command.ref,
    url: receiverUrl(context, command.ref),
    events: providerEvents(context, eventsOf(context)) ?? item.events ?? undefined,
    subscriptionId: item.id,
    encryptionKey: to.encryptionKey ?? (before && secretsOf(context, before)?.encryptionKey),
  };
  try {
    const outcome = await session.untilDone(() => session.api.update(item.id, values, command.extra));
    if (outcome.judgement === 'gone') throw new HooklineError('SUBSCRIPTION_NOT_FOUND', item.id);
  } catch (error) {
    // It is certain that nothing was changed: the ref is as it was before.
    if (hasCode(error, 'PROVIDER_REFUSED', 'TOKEN_REFUSED', 'SUBSCRIPTION_NOT_FOUND'))
      await records.storeSubscription(command.ref, before ?? null, lease);
    throw error;
  }
}
