import { endsCommand, HooklineError, hasCode } from '../../core/errors.ts';
import { signingPartFault } from '../../crypto/keys.ts';
import { eventNameOf } from '../../provider/dialect.ts';
import { isWithoutEffect, mayComeLater } from '../../provider/judge-answer.ts';
import type { ListedItem } from '../../provider/provider-api.ts';
import type { DirSecrets } from '../../subscriptions/secrets-dir.ts';
import {
  isUnfinished,
  replacedBy,
  type SubscriptionRecord,
  sealSecrets,
} from '../../subscriptions/subscription-record.ts';
import { clearAddress, listItems } from './clear-address.ts';
import type { OperationContext, Settled } from './operation.ts';
import {
  carriedSecrets,
  checkOpens,
  resealed,
  secretsOf,
  toldKey,
  withTaken,
  withTold,
} from './sealed-keys.ts';
import {
  beforeCommand,
  eventsOf,
  hasBegun,
  isCarriedOut,
  isOfAnotherRef,
  isReleased,
  noteBegin,
  providerEvents,
  receiverUrl,
  replacing,
  storeState,
  withdraw,
} from './subscription-state.ts';
import { isNotHere, mayStillCome } from './unfinished-adoption.ts';

/**
 * Takes over a subscription that exists, without recreating it. It is found by the subscription-id in SECRETS_DIR, or
 * by the ref's address; its signing secret must be there too, as nobody tells it a second time.
 */
export async function adoptSubscription(context: OperationContext): Promise<Settled> {
  const { command, subscriptions, dialect } = context;
  const current = subscriptions.get(command.ref);
  const isActive = current?.state === 'ACTIVE';
  const isResumed = isActive && current.commandId === command.commandId;
  // This very command, resumed after its state was stored and before its result was.
  if (isResumed && isCarriedOut(context))
    return { message: 'adopted', subscriptionId: current.subscriptionId };
  // Of an adoption: this one before a crash, or an earlier one.
  const unfinished = current && isUnfinished(current) ? current : null;
  const dir = await filesOf(context);
  const wantedId = isResumed ? (current.subscriptionId ?? undefined) : dir.subscriptionIds[0];
  const item = await findItem(context, wantedId).catch(async (error) => {
    const isGone = hasCode(error, 'SUBSCRIPTION_NOT_FOUND');
    if (unfinished && isGone && !command.dryRun) await withdrawUnlessHere(context, unfinished);
    throw error;
  });
  const subscriptionId = item.id;
  if (isActive && current.subscriptionId !== subscriptionId) throw new HooklineError('REF_IN_USE');
  if (isOfAnotherRef(context, subscriptionId))
    throw new HooklineError('REF_IN_USE', `${subscriptionId} is another ref's`);
  const listed = (item.events ?? []).map((event) => eventNameOf(dialect, event) ?? event);
  const events = eventsOf(context) ?? listed;
  const active = { state: 'ACTIVE', subscriptionId } as const;
  const kept = { ...active, ref: command.ref, sealedKeys: keptKeys(context, current, active) };
  const isChange = isToBeChanged(context, item);
  const secrets = secretsOf(context, kept);
  const told = isChange ? toldKey(dialect, dir.encryptionKeys[0], secrets) : undefined;
  // Beside keys that nothing opens the new one cannot be kept.
  if (told !== undefined && current) checkOpens(context, { ...current, ...kept });
  if (command.dryRun) return { message: `dry run: would adopt ${subscriptionId}`, subscriptionId };
  // What a creation that came to no end may have left has our address, and a secret that nobody knows.
  if (current?.state === 'REQUESTED') {
    await noteBegin(context, current);
    await clearAddress(context, true, { stays: (id) => id === subscriptionId });
  }
  let { sealedKeys } = kept;
  if (isChange) {
    const encryptionKey = dir.encryptionKeys[0] ?? secrets?.encryptionKey;
    const before = unfinished ? beforeCommand(context, unfinished) : current;
    // The ref may go back to it after the call has had its effect.
    const isSame = before?.state === 'ACTIVE' && before.subscriptionId === subscriptionId;
    const opens = isSame ? { ...before, sealedKeys: withTold(context, before, told) } : before;
    const replaced = replacing(context, opens);
    // Before the call: with its effect deliveries come here, and are verified by the id that the state has.
    const noted = { ...active, sealedKeys: withTold(context, kept, told) };
    const record = await storeState(context, { ...noted, events: listed, replaced });
    sealedKeys = withTaken(context, record, active, told);
    // The process of a call before a crash is gone for a while; that of another command may be at work.
    const mayCome = unfinished !== null && !isResumed && mayStillCome(context, unfinished);
    const mayBeDone = unfinished !== null;
    await changeItem(context, { item, encryptionKey, record, mayBeDone, mayStillCome: mayCome });
  }
  await storeState(context, { ...active, sealedKeys, events, begunBy: command.commandId });
  return { message: 'adopted', subscriptionId };
}

/** @throws HooklineError KEYS_MISSING, KEYS_INVALID where nothing was changed; PROVIDER_UNAVAILABLE where something may be */
async function filesOf(context: OperationContext): Promise<DirSecrets> {
  const { command, subscriptions, dirSecrets } = context;
  try {
    const dir = await dirSecrets(command.ref);
    if (dir.signingSecrets.length === 0) throw new HooklineError('KEYS_MISSING');
    if (subscriptions.get(command.ref)?.state === 'REQUESTED' && dir.subscriptionIds.length === 0)
      throw new HooklineError('KEYS_MISSING', NAMELESS);
    return dir;
  } catch (error) {
    // A rejected command has changed nothing; this one may have, before a crash.
    if (!hasBegun(context) || !hasCode(error, 'KEYS_MISSING', 'KEYS_INVALID')) throw error;
    throw new HooklineError('PROVIDER_UNAVAILABLE', `${MAY_DELIVER}: ${error.message}`);
  }
}

const MAY_DELIVER =
  'the adoption was begun, and may have taken effect: correct the files and adopt it again, or delete the ref. It was ended by';

const NAMELESS =
  'its subscription-id too, as a creation of the ref that came to no end may have left another one at the address';

/** The one of this id, or at our address. */
async function findItem(context: OperationContext, wantedId: string | undefined): Promise<ListedItem> {
  const url = receiverUrl(context, context.command.ref);
  const items = await listItems(context);
  const found = items.filter((one) => (wantedId === undefined ? one.url === url : one.id === wantedId));
  if (found.length > 1)
    throw new HooklineError('KEYS_MISSING', `its subscription-id too, as ${found.length} are at the address`);
  const [item] = found;
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
  if (!isReleased(context, before)) checkOpens(context, before);
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
  /** What is stored of the ref. */
  readonly record: SubscriptionRecord;
  /** A call that was made before may have had its effect. */
  readonly mayBeDone: boolean;
  /** It may have it later. */
  readonly mayStillCome: boolean;
};

/** Without events of its own the command leaves those that the subscription has. */
async function changeItem(context: OperationContext, change: Change): Promise<void> {
  const { command, session } = context;
  const { item, encryptionKey, record } = change;
  const values = {
    ref: command.ref,
    url: receiverUrl(context, command.ref),
    events: providerEvents(context, eventsOf(context)) ?? item.events ?? undefined,
    subscriptionId: item.id,
    encryptionKey,
  };
  let { mayBeDone, mayStillCome } = change;
  const update = async () => {
    const outcome = await session.api.update(item.id, values, command.extra);
    mayBeDone ||= !isWithoutEffect(outcome);
    mayStillCome ||= mayComeLater(outcome);
    return outcome;
  };
  try {
    const outcome = await session.untilDone(update);
    if (outcome.judgement === 'gone') throw new HooklineError('SUBSCRIPTION_NOT_FOUND', item.id);
  } catch (error) {
    if (!endsCommand(error)) throw error;
    // Back to the same subscription: its deliveries are verified all the same.
    const isSame = replacedBy(record)?.state === 'ACTIVE';
    if (isSame || !mayBeDone) await withdraw(context, record);
    else if (!mayStillCome) await withdrawUnlessHere(context, record);
    throw error;
  }
}

/** What may deliver here must be verified here: the ref goes back only where its subscription is known to be elsewhere. */
async function withdrawUnlessHere(context: OperationContext, record: SubscriptionRecord): Promise<void> {
  const isKnownToBeElsewhere = await context.session
    .close(() => isNotHere(context, record))
    .catch(() => false);
  if (isKnownToBeElsewhere) await withdraw(context, record);
}
