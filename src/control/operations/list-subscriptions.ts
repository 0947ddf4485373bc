import type { OperationContext, Settled } from '../control-parts.ts';
import { listItems } from './clear-address.ts';

/** What the payment service has, each with its ref where it is ours. */
export async function listSubscriptions(context: OperationContext): Promise<Settled> {
  const refs = new Map(context.subscriptions.all().map((record) => [record.subscriptionId, record.ref]));
  const subscriptions = (await listItems(context)).map(({ id, url, events }) => {
    return { subscriptionId: id, url, events, ref: refs.get(id) ?? null };
  });
  return { message: `${subscriptions.length} listed`, subscriptions };
}
