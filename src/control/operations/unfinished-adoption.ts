import { CHANGE_TIMEOUT_MS } from '../../provider/call-provider.ts';
import type { SubscriptionRecord } from '../../subscriptions/subscription-record.ts';
import { listCredibly } from './clear-address.ts';
import type { OperationContext } from './operation.ts';
import { receiverUrl } from './subscription-state.ts';

/**
 * Whether a call of an adoption that came to no end may still have its effect: its first call was made when the record was
 * stored, its last one by the command's deadline, and the provider has heard nothing of one that was given up.
 */
export function mayStillCome({ session, clock }: OperationContext, unfinished: SubscriptionRecord): boolean {
  return unfinished.updatedAt > clock.wall() - session.deadlineMs - CHANGE_TIMEOUT_MS;
}

/** Whether the subscription of an adoption does not deliver here: where it is not listed, or is listed with another address. */
export async function isNotHere(context: OperationContext, record: SubscriptionRecord): Promise<boolean> {
  const url = receiverUrl(context, record.ref);
  const items = await listCredibly(context);
  return !items.some((one) => one.id === record.subscriptionId && (one.url === null || one.url === url));
}

/** Whether it is listed with another address than ours: then it is not ours. */
export async function isElsewhere(context: OperationContext, record: SubscriptionRecord): Promise<boolean> {
  const url = receiverUrl(context, record.ref);
  const items = await listCredibly(context);
  return items.some((one) => one.id === record.subscriptionId && one.url !== null && one.url !== url);
}
