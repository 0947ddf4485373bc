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
  const { subscriptionId } = before;
  if (before.state === 'RETIRED') {
    // This command did, before a crash.
    if (hasBegun(context)) return { message: 'deleted', subscriptionId };
    if (!isForgettable(context, before) || command.dryRun)
      return { message: 'nothing to delete: it was deleted before', subscriptionId };
    await records.storeSubscription(command.ref, null, lease);
    return { message: 'forgotten: it was deleted before, and its keys are no longer live', subscriptionId };
  }
  if (command.dryRun) return { message: 'dry run: would be deleted', subscriptionId };
  await noteBegin(context, before);
  if (before.state === 'REQUESTED' || subscriptionId === null) {
    // A create that came to no end: what it may have left has our address.
    await clearAddress(context, true);
    const left = beforeCommand(context, before);
    await records.storeSubscription(
      command.ref,
      left ? { ...left, commandId: command.commandId } : null,
      lease,
    );
    return { message: 'deleted: its creation had not come to an end' };
  }
  const outcome = await session.untilDone(() => session.api.remove(subscriptionId));
  // The keys stay with it: deliveries that are under way are still verified by them.
  const retired = { state: 'RETIRED', subscriptionId } as const;
  const sealedKeys = resealed(context, before, retired);
  await storeState(context, { ...retired, events: before.events, sealedKeys });
  const isGone = outcome.judgement === 'gone';
  return { message: isGone ? 'deleted: the provider no longer had it' : 'deleted', subscriptionId };
}
