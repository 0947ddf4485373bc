import { takesRef } from '../../config/command-topics.ts';
import { listItems } from './clear-address.ts';
import { findDrift, listedDrift } from './find-drift.ts';
import type { OperationContext, Settled } from './operation.ts';
import { receiverUrl } from './subscription-state.ts';

/**
 * What the provider has, each with its ref where it is ours, and in what that differs from the state. A topic
 * with a pattern of refs is shown those that it takes: by their ref, or by an address that is such a ref's.
 */
export async function listSubscriptions(context: OperationContext): Promise<Settled> {
  const { dialect, publicUrl, session, clock } = context;
  const patterns = context.refPatterns(context.topic);
  const items = await listItems(context);
  const records = context.subscriptions.all();
  const refs = new Map(records.map((record) => [record.subscriptionId, record.ref]));
  const addresses = receiverUrl(context, '');
  const isShown = (ref: string | null, url: string | null) =>
    patterns === null ||
    (ref !== null
      ? takesRef(patterns, ref)
      : url?.startsWith(addresses) === true && takesRef(patterns, url.slice(addresses.length)));
  const subscriptions = items
    .map(({ id, url, events }) => ({ subscriptionId: id, url, events, ref: refs.get(id) ?? null }))
    .filter(({ ref, url }) => isShown(ref, url));
  const shown = new Set(subscriptions.map(({ subscriptionId }) => subscriptionId));
  const drift = findDrift({
    records,
    items,
    dialect,
    publicUrl,
    deadlineMs: session.deadlineMs,
    now: clock.wall(),
  })
    .map(listedDrift)
    .filter(({ ref, subscriptionId }) => (ref === null ? shown.has(subscriptionId) : isShown(ref, null)));
  const which = patterns === null ? '' : `, of refs that match ${patterns.join(' or ')}`;
  return { message: `${subscriptions.length} listed${which}`, subscriptions, drift };
}
