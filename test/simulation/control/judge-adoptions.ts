import type { SubscriptionRecord } from '../../../src/subscriptions/subscription-record.ts';
import { mayDiffer } from './judge-provider.ts';
import type { EndedCommand } from './ledger.ts';
import { type ControlSite, PUBLIC_URL } from './site.ts';

/**
 * A subscription that was there before is ours when an adoption has succeeded, and unfinished after one that has not; and where one has
 * brought it to our address, the state knows it. It is not deleted while it delivers elsewhere.
 */
export function judgeAdoptions(
  site: ControlSite,
  ended: readonly EndedCommand[],
  state: ReadonlyMap<string, SubscriptionRecord>,
): string[] {
  const { foreign, begun, provider, cluster } = site;
  const elsewhere = new Set(
    [...foreign.values()].map(({ url }) => url).filter((url) => !url.startsWith(PUBLIC_URL)),
  );
  const taken = provider.effects
    .filter(({ what, subscription }) => what === 'deletes' && elsewhere.has(subscription?.url ?? ''))
    .map(({ subscription }) => `${subscription?.id} was deleted, and delivered elsewhere`);
  const faults = [...foreign].flatMap(([ref, { id }]) => {
    const record = state.get(ref);
    if (record?.state !== 'ACTIVE' || record.subscriptionId !== id) {
      const url = `${PUBLIC_URL}/webhooks/${ref}`;
      const isHere = provider.subscriptions.get(id)?.url === url;
      if (!isHere || record?.state === 'REQUESTED' || mayDiffer(site, url, 0)) return [];
      return [`${ref}: an adoption has brought ${id} to our address, and the state has forgotten it`];
    }
    const own = ended.filter(({ fields }) => fields.ref === ref && fields.issuedBy === undefined);
    const ends = (type: string, status: string) =>
      own.some(({ fields, result }) => fields.type === type && result.status === status && !result.dryRun);
    if (record.replaced != null) {
      if (!ends('subscription.adopt', 'FAILED'))
        return [`${ref}: ${id} is unfinished, and no adoption has FAILED`];
      const calls = begun.all.filter(({ what }) => what === `PUT /subscription/${id}`);
      // A process that has died right behind its intent has not called. The next one cannot know that, and can only look.
      const isUnseen = begun.all.some(
        ({ what, status }) => what === 'GET /subscriptions' && status === undefined,
      );
      const isUnclear = calls.length === 0 ? isUnseen : calls.some(({ status = 0 }) => !isRefusal(status));
      // Nor does it know of what stands at our address whether it came there by such a call: what delivers here is verified here.
      const isTakenUp = new Set(cluster.coordinator.group.assigned.map(({ clientId }) => clientId)).size > 1;
      const isHere = provider.subscriptions.get(id)?.url === `${PUBLIC_URL}/webhooks/${ref}`;
      return isUnclear || (isTakenUp && isHere)
        ? []
        : [`${ref}: ${id} is unfinished, and each call was refused`];
    }
    const isOurs = ends('subscription.adopt', 'SUCCEEDED') || ends('subscription.update', 'SUCCEEDED');
    return isOurs ? [] : [`${ref}: ${id} is taken for ours, and no adoption has succeeded`];
  });
  return [...taken, ...faults];
}

const isRefusal = (status: number) => status >= 400 && status < 500;
