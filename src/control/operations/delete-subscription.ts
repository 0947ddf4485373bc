import { HooklineError } from '../../core/errors.ts';
import { isUnfinished, type SubscriptionRecord } from '../../subscriptions/subscription-record.ts';
import { clearAddress, removeSubscription } from './clear-address.ts';
import type { OperationContext, Settled } from './operation.ts';
import { checkOpens, resealed } from './sealed-keys.ts';
import {
  beforeCommand,
  hasBegun,
  isForgettable,
  noteBegin,
  othersWith,
  storeState,
} from './subscription-state.ts';
import { isElsewhere, mayStillCome } from './unfinished-adoption.ts';

/** Removes a ref's subscription. What is gone already is as well deleted as what was there. */
export async function deleteSubscription(context: OperationContext): Promise<Settled> {
  const { command, subscriptions, records, lease } = context;
  const before = subscriptions.get(command.ref);
  if (!before) return { message: 'nothing to delete: the ref has no subscription' };
  if (before.state === 'RETIRED') {
    const { subscriptionId } = before;
    // This command did, before a crash.
    if (hasBegun(context)) return { message: 'deleted', subscriptionId };
    if (!isForgettable(context, before) || command.dryRun)
      return { message: 'nothing to delete: it was deleted before', subscriptionId };
    await records.storeSubscription(command.ref, null, lease);
    return { message: 'forgotten: it was deleted before, and its keys are no longer live', subscriptionId };
  }
  const ours = isUnfinished(before) ? await oursOf(context, before) : before;
  const isIntent = ours !== null && (ours.state === 'REQUESTED' || ours.subscriptionId === null);
  const left = isIntent ? beforeCommand(context, ours) : ours;
  // It was to be created anew: the one before it is deleted too.
  const subscriptionId = left?.state === 'ACTIVE' ? left.subscriptionId : null;
  const stays = subscriptionId !== null && isAnothersForCertain(context, subscriptionId);
  if (subscriptionId !== null && left) checkOpens(context, left);
  if (command.dryRun) {
    const what = subscriptionId === null && !isIntent ? 'its adoption would be given up' : 'would be deleted';
    const message = stays ? "the subscription would stay, as it is another ref's" : what;
    return { message: `dry run: ${message}`, subscriptionId: before.subscriptionId };
  }
  await noteBegin(context, before);
  // A create that came to no end: what it may have left has our address.
  if (isIntent) await clearAddress(context, true, { stays: (id) => isAnothersForCertain(context, id) });
  if (left === null || subscriptionId === null) {
    await records.storeSubscription(command.ref, left && { ...left, commandId: command.commandId }, lease);
    const what = isUnfinished(before) ? 'adoption' : 'creation';
    return { message: `deleted: its ${what} had not come to an end` };
  }
  if (stays) return await retire(context, left, OF_ANOTHER);
  const isGone = await removeSubscription(context, subscriptionId);
  return await retire(context, left, isGone ? 'deleted: the provider no longer had it' : 'deleted');
}

/** Whether another ref has this subscription. An unfinished adoption by another ref does not count. */
const isAnothersForCertain = (context: OperationContext, id: string): boolean =>
  othersWith(context, id).some((one) => !isUnfinished(one));

const OF_ANOTHER = "deleted: the subscription stays, as it is another ref's";

/**
 * What of an adoption that came to no end is ours: all of it, or what was there before where its subscription is elsewhere.
 * @throws HooklineError PROVIDER_UNAVAILABLE where it may still come here
 */
async function oursOf(
  context: OperationContext,
  adopted: SubscriptionRecord,
): Promise<SubscriptionRecord | null> {
  if (!(await isElsewhere(context, adopted))) return adopted;
  if (mayStillCome(context, adopted))
    throw new HooklineError('PROVIDER_UNAVAILABLE', 'its adoption may still take effect: delete it later');
  return beforeCommand(context, adopted);
}

async function retire(
  context: OperationContext,
  left: SubscriptionRecord,
  message: string,
): Promise<Settled> {
  // The keys stay with it: deliveries that are under way are still verified by them.
  const { subscriptionId } = left;
  const retired = { state: 'RETIRED', subscriptionId } as const;
  const sealedKeys = resealed(context, left, retired);
  await storeState(context, { ...retired, events: left.events, sealedKeys });
  return { message, subscriptionId };
}
