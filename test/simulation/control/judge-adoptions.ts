import type { SubscriptionRecord } from '../../../src/subscriptions/subscription-record.ts';
import type { EndedCommand } from './ledger.ts';
import type { ControlSite } from './site.ts';

/** A subscription that was there before is ours when an adoption has succeeded, and unfinished after one that has not. */
export function judgeAdoptions(
  { foreign, begun }: Pick<ControlSite, 'foreign' | 'begun'>,
  ended: readonly EndedCommand[],
  state: ReadonlyMap<string, SubscriptionRecord>,
): string[] {
  return [...foreign].flatMap(([ref, { id }]) => {
    const record = state.get(ref);
    if (record?.state !== 'ACTIVE' || record.subscriptionId !== id) return [];
    const own = ended.filter(({ fields }) => fields.ref === ref && fields.issuedBy === undefined);
    const ends = (type: string, status: string) =>
      own.some(({ fields, result }) => fields.type === type && result.status === status && !result.dryRun);
    if (record.replaced != null) {
      if (!ends('subscription.adopt', 'FAILED'))
        return [`${ref}: ${id} is unfinished, and no adoption has FAILED`];
      const isUnclear = begun.all.some(
        ({ what, status = 0 }) => what === `PUT /subscription/${id}` && !isRefusal(status),
      );
      return isUnclear ? [] : [`${ref}: ${id} is unfinished, and each call was refused`];
    }
    const isOurs = ends('subscription.adopt', 'SUCCEEDED') || ends('subscription.update', 'SUCCEEDED');
    return isOurs ? [] : [`${ref}: ${id} is taken for ours, and no adoption has succeeded`];
  });
}

const isRefusal = (status: number) => status >= 400 && status < 500;
