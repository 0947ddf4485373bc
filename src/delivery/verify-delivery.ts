import { type Delivery, markVerified, type VerifiedDelivery } from '../core/delivery.ts';
import { HooklineError } from '../core/errors.ts';
import type { SignatureCheck } from '../crypto/signature.ts';
import type { DeliveryParts } from './delivery-parts.ts';

/**
 * Proves that the payment service signed the body (interface, section 6.3). The check has seen the body as it arrived.
 * @throws HooklineError UNAUTHENTIC for every cause alike: no header, a malformed one, a wrong one, an unknown ref
 */
export function verifyDelivery(
  delivery: Delivery,
  signature: { readonly check: SignatureCheck; readonly header: string | undefined },
  parts: Pick<DeliveryParts, 'observer'>,
): VerifiedDelivery {
  const key = signature.check.finish(signature.header, delivery.body);
  if (!key) throw new HooklineError('UNAUTHENTIC');
  parts.observer.keyMatched(delivery.ref, 'signing', key.place);
  return markVerified(delivery, key.subscriptionId);
}
