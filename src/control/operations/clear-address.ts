import { canonicalAddress } from '../../core/address.ts';
import { HooklineError } from '../../core/errors.ts';
import { isWithoutEffect } from '../../provider/judge-answer.ts';
import type { ListedItem } from '../../provider/provider-api.ts';
import { isUnfinished, wantedBy } from '../../subscriptions/subscription-record.ts';
import { refuseEmptyList } from './find-drift.ts';
import type { OperationContext } from './operation.ts';
import { isOfAnotherRef, receiverUrl } from './subscription-state.ts';

/** Calls whose answers were lost leave a few; with a faulty list the removals would never end. */
const MAX_LEFT_BEHIND = 100;

/**
 * Makes sure that the provider has no subscription for the ref's address. It removes what stands there if it is ours:
 * a call whose answer was lost has left it.
 * @param options.stays whether one of this id stays
 * @param options.listed the ids that were listed before our first call
 * @returns the ids that are listed
 * @throws HooklineError URL_IN_USE where it isn't ours; PROVIDER_ANSWER_INVALID
 */
export async function clearAddress(
  context: OperationContext,
  isOurs: boolean,
  options: {
    readonly stays?: (id: string) => boolean;
    readonly listed?: ReadonlySet<string> | undefined;
  } = {},
): Promise<ReadonlySet<string>> {
  const { stays = () => false, listed } = options;
  const { command, subscriptions } = context;
  const url = receiverUrl(context, command.ref);
  // PUBLIC_URL may have changed since our own call.
  const then = isOurs ? subscriptions.get(command.ref)?.receiverUrl : undefined;
  // A faulty list would hide what our own call has made, and a second subscription would be created.
  const items = await (isOurs ? listCredibly(context) : listItems(context));
  if (isOurs && hidesOurs(context, items, listed))
    throw new HooklineError('PROVIDER_ANSWER_INVALID', NO_ADDRESSES);
  const isHere = (one: ListedItem) =>
    one.url !== null && (one.url === url || (then !== undefined && one.url === canonicalAddress(then)));
  const found = items.filter((one) => isHere(one) && !stays(one.id));
  if (found.length > MAX_LEFT_BEHIND)
    throw new HooklineError(
      'PROVIDER_ANSWER_INVALID',
      `the list has ${found.length} subscriptions for ${url}`,
    );
  for (const item of found) {
    // Somebody may have given another ref's this address.
    if (!isOurs || isOfAnotherRef(context, item.id)) throw new HooklineError('URL_IN_USE', item.id);
    await removeSubscription(context, item.id);
  }
  return new Set(items.map(({ id }) => id));
}

/** Whether one without an address may be what our own call has made, or shows that ours are listed without theirs. */
function hidesOurs(
  { subscriptions }: OperationContext,
  items: readonly ListedItem[],
  listed: ReadonlySet<string> | undefined,
): boolean {
  const known = new Set(subscriptions.all().map((one) => wantedBy(one)?.subscriptionId));
  const isOurs = (id: string) => (listed ? !listed.has(id) && !known.has(id) : known.has(id));
  return items.some(({ id, url }) => url === null && isOurs(id));
}

const NO_ADDRESSES =
  "its list shows no addresses, so that what an earlier call has made is not found: correct the dialect's list.url";

/**
 * Removes a subscription. It counts as gone where the list does not have it either: a gateway without its route
 * answers 404, too.
 * @returns whether it was gone already
 * @throws HooklineError PROVIDER_REFUSED, PROVIDER_UNAVAILABLE, PROVIDER_ANSWER_INVALID
 */
export async function removeSubscription(context: OperationContext, id: string): Promise<boolean> {
  const { session } = context;
  let isInDoubt = false;
  const { judgement } = await session.untilDone(async () => {
    const outcome = await session.api.remove(id);
    const isRefused = outcome.judgement === 'refused' && isInDoubt;
    isInDoubt ||= !isWithoutEffect(outcome);
    // What is removed already may be refused, too.
    const isSure = outcome.judgement === 'gone' ? outcome.status === 410 : !isRefused;
    if (isSure) return outcome;
    const items = await session.aside(() => listCredibly(context));
    const isListed = items.some((one) => one.id === id && one.isActive);
    if (isRefused) return isListed ? outcome : { ...outcome, judgement: 'done' };
    if (!isListed) return outcome;
    return { ...outcome, judgement: 'later', why: `${outcome.why}, but lists the subscription` };
  });
  return judgement === 'gone';
}

/**
 * Lists the provider's subscriptions.
 * @throws HooklineError PROVIDER_ANSWER_INVALID where its list doesn't have the dialect's shape
 */
export async function listItems({
  session,
}: Pick<OperationContext, 'session'>): Promise<readonly ListedItem[]> {
  const { items } = await session.untilDone(() => session.api.list());
  if (!items) throw new HooklineError('PROVIDER_ANSWER_INVALID', 'the list of subscriptions');
  return items;
}

/**
 * Lists them where what is missing counts, too.
 * @throws HooklineError PROVIDER_ANSWER_INVALID also where the list is empty and other refs have active subscriptions; those of
 *   adoptions that came to no end may be gone
 */
export async function listCredibly(context: OperationContext): Promise<readonly ListedItem[]> {
  const { command, subscriptions } = context;
  const items = await listItems(context);
  const others = subscriptions.all().filter((one) => one.ref !== command.ref && !isUnfinished(one));
  refuseEmptyList(items, others);
  return items;
}
