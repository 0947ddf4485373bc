import { HooklineError, hasCode } from '../../core/errors.ts';
import { signingPartFault } from '../../crypto/keys.ts';
import { eventNameOf } from '../../provider/dialect.ts';
import { isWithoutEffect } from '../../provider/judge-answer.ts';
import type { ListedItem } from '../../provider/provider-api.ts';
import type { DirSecrets } from '../../subscriptions/secrets-dir.ts';
import {
  openSecrets,
  replacedBy,
  replacedText,
  type SubscriptionRecord,
  sealSecrets,
} from '../../subscriptions/subscription-record.ts';
import { listItems } from './clear-address.ts';
import type { OperationContext, Settled } from './operation.ts';
import {
  carriedSecrets,
  eventsOf,
  hasBegun,
  providerEvents,
  receiverUrl,
  resealed,
  storeState,
} from './subscription-state.ts';

/**
 * Takes over a subscription that exists, without recreating it. It is found by the subscription-id in SECRETS_DIR, or
 * by the ref's address; its signing secret must be there too, as nobody tells it a second time.
 */
export async function adoptSubscription(context: OperationContext): Promise<Settled> {
  const { command, subscriptions, dialect } = context;
  const current = subscriptions.get(command.ref);
  // A crash came behind the first of this command's writes: what was before it is in that record.
  const isResumed = current?.state === 'ACTIVE' && hasBegun(context);
  const dir = await context.dirSecrets(command.ref);
  if (dir.signingSecrets.length === 0) throw new HooklineError('KEYS_MISSING');
  const item = await findItem(context, dir);
  const subscriptionId = item.id;
  if (current?.state === 'ACTIVE' && current.subscriptionId !== subscriptionId)
    throw new HooklineError('REF_IN_USE');
  const listed = (item.events ?? []).map((event) => eventNameOf(dialect, event) ?? event);
  const events = eventsOf(context) ?? listed;
  if (command.dryRun) return { message: `dry run: would adopt ${subscriptionId}`, subscriptionId };
  const active = { state: 'ACTIVE', subscriptionId } as const;
  const sealedKeys = keptKeys(context, current, active);
  const isChange = isToBeChanged(context, item);
  const replaced = isResumed ? (current.replaced ?? null) : replacedText(current ?? null);
  // Before the call: with its effect deliveries come here, and are verified by the id that the state has.
  await storeState(context, { ...active, sealedKeys, events: listed, replaced: isChange ? replaced : null });
  if (isChange) {
    const kept = sealedKeys && openSecrets(context.sealingKeys, { ...active, ref: command.ref }, sealedKeys);
    const encryptionKey = dir.encryptionKeys[0] ?? kept?.encryptionKey;
    await changeItem(context, { item, encryptionKey, isResumed, replaced });
    await storeState(context, { ...active, sealedKeys, events });
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

type Change = {
  readonly item: ListedItem;
  readonly encryptionKey: string | undefined;
  readonly isResumed: boolean;
  /** What the ref goes back to; null: it stays, as the adoption had its effect before. */
  readonly replaced: string | null;
};

/** Without events of its own the command leaves those that the subscription has. */
async function changeItem(context: OperationContext, change: Change): Promise<void> {
  const { command, session, records, lease } = context;
  const { item, encryptionKey, replaced } = change;
  const values = {
    ref: command.ref,
    url: receiverUrl(context, command.ref),
    events: providerEvents(context, eventsOf(context)) ?? item.events ?? undefined,
    subscriptionId: item.id,
    encryptionKey,
  };
  // A call that was made before a crash, or whose answer was lost, may have had its effect.
  let mayBeDone = change.isResumed;
  let mayStillCome = false;
  const update = async () => {
    const outcome = await session.api.update(item.id, values, command.extra);
    mayBeDone ||= !isWithoutEffect(outcome);
    mayStillCome ||= outcome.timedOutEarly === true;
    return outcome;
  };
  try {
    const outcome = await session.untilDone(update);
    if (outcome.judgement === 'gone') throw new HooklineError('SUBSCRIPTION_NOT_FOUND', item.id);
  } catch (error) {
    if (!(error instanceof HooklineError && error.result) || replaced === null) throw error;
    const before = replacedBy({ replaced });
    // What may deliver here must be verified here: only where nothing was changed the ref is as it was before.
    if (before?.state !== 'ACTIVE') {
      if (mayStillCome || (mayBeDone && (await mayBeHere(context, item.id)))) throw error;
    }
    const withdrawn = records.storeSubscription(command.ref, before, lease);
    await withdrawn.catch((late) => {
      if (!hasCode(late, 'COMMAND_TIMED_OUT')) throw late;
    });
    throw error;
  }
}

async function mayBeHere(context: OperationContext, id: string): Promise<boolean> {
  const isHere = ({ url }: ListedItem) => url === null || url === receiverUrl(context, context.command.ref);
  return context.session
    .close(() => listItems(context))
    .then(
      (items) => items.some((one) => one.id === id && isHere(one)),
      () => true,
    );
}
