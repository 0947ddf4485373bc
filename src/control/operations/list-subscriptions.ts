import type { OperationContext, Settled } from '../control-parts.ts';
import { findDrift, listedDrift } from '../reconciler/find-drift.ts';
import { listItems } from './clear-address.ts';

/** What the payment service has, each with its ref where it is ours, and in what that differs from the state. */
export async function listSubscriptions(context: OperationContext): Promise<Settled> {
  const { dialect, publicUrl } = context;
  const items = await listItems(context);
  const records = context.subscriptions.all();
  const refs = new Map(records.map((record) => [record.subscriptionId, record.ref]));
  const subscriptions = items.map(({ id, url, events }) => {
    return { subscriptionId: id, url, events, ref: refs.get(id) ?? null };
  });
  const drift = findDrift({ records, items, dialect, publicUrl }).map(listedDrift);
  return { message: `${subscriptions.length} listed`, subscriptions, drift };
}
