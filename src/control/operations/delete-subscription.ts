import { clearAddress } from './clear-address.ts';
import type { OperationContext, Settled } from './operation.ts';
import {
  beforeCommand,
  hasBegun,
  isForgettable,
  noteBegin,
  resealed,
  storeState,
} from './subscription-state.ts';

/** Removes a ref's subscription. What is gone already is as well deleted as what was there. */
export async function deleteSubscription(context: OperationContext): Promise<Settled> {
  const { command, session, subscriptions, records, lease } = context;
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
  if (command.dryRun) return { message: 'dry run: would be deleted', subscriptionId: before.subscriptionId };
  await noteBegin(context, before);
  const isIntent = before.state === 'REQUESTED' || before.subscriptionId === null;
  // A create that came to no end: what it may have left has our address.
  if (isIntent) await clearAddress(context, true);
  const left = isIntent ? beforeCommand(context, before) : before;
  // It was to be created anew: the one before it is deleted too.
  const subscriptionId = left?.state === 'ACTIVE' ? left.subscriptionId : null;
  if (left === null || subscriptionId === null) {
    await records.storeSubscription(command.ref, left && { ...left, commandId: command.commandId }, lease);
    return { message: 'deleted: its creation had not come to an end' };
  }
  const outcome = await session.untilDone(() => session.api.remove(subscriptionId));
  // The keys stay with it: deliveries that are under way are still verified by them.
  const retired = { state: 'RETIRED', subscriptionId } as const;
  const sealedKeys = resealed(context, left, retired);
  await storeState(context, { ...retired, events: left.events, sealedKeys });
  const isGone = outcome.judgement === 'gone';
  return { message: isGone ? 'deleted: the provider no longer had it' : 'deleted', subscriptionId };
}
