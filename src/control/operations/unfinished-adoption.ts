import { canonicalAddress } from '../../core/address.ts';
import type { SubscriptionRecord } from '../../subscriptions/subscription-record.ts';
import { listCredibly } from './clear-address.ts';
import type { OperationContext } from './operation.ts';
import { mayTakeEffect, receiverUrl } from './subscription-state.ts';

/** Whether a call of an unfinished adoption, or creation, may still take effect: `updatedAt` is when it, or an update since, began. */
export function mayStillCome({ session, clock }: OperationContext, unfinished: SubscriptionRecord): boolean {
  return mayTakeEffect(unfinished, clock.wall(), session.deadlineMs);
}

/** Whether the subscription of an adoption does not deliver here: where it is not listed, or is listed with another address. */
export async function isNotHere(context: OperationContext, record: SubscriptionRecord): Promise<boolean> {
  const item = await listedItem(context, record);
  return item === undefined || (item.url !== null && !isOurs(context, record, item.url));
}

/** Whether it is listed with another address than ours: then it is not ours. */
export async function isElsewhere(context: OperationContext, record: SubscriptionRecord): Promise<boolean> {
  const item = await listedItem(context, record);
  return item !== undefined && item.url !== null && !isOurs(context, record, item.url);
}

async function listedItem(context: OperationContext, { subscriptionId }: SubscriptionRecord) {
  return (await listCredibly(context)).find(({ id }) => id === subscriptionId);
}

/** PUBLIC_URL may have changed since. */
const isOurs = (context: OperationContext, { ref, receiverUrl: then }: SubscriptionRecord, url: string) =>
  url === receiverUrl(context, ref) || url === canonicalAddress(then);
