import { type Delivery, markVerified, type Receipt, type VerifiedDelivery } from '../core/delivery.ts';
import { HooklineError } from '../core/errors.ts';
import type { SignatureCheck } from '../crypto/signature.ts';
import type { DeliveryPorts } from './ports.ts';

/** What a webhook needs to be accepted. */
export type AcceptPorts = Pick<DeliveryPorts, 'observer'> & {
  /** Stores a verified delivery: in Kafka, or in the spool while Kafka is unavailable. */
  readonly store: (delivery: VerifiedDelivery) => Promise<Receipt>;
};

/** The signature as the request has it, and the check that has seen the body's bytes as they arrived. */
export type ClaimedSignature = { readonly check: SignatureCheck; readonly header: string | undefined };

/**
 * Accepts one webhook: its signature is verified, then it is stored. When this resolves, it is stored durably.
 * @throws HooklineError UNAUTHENTIC: it is not stored; retryable ones: nothing is promised
 */
export function acceptDelivery(
  delivery: Delivery,
  signature: ClaimedSignature,
  ports: AcceptPorts,
): Promise<Receipt> {
  try {
    return ports.store(verifyDelivery(delivery, signature, ports));
  } catch (error) {
    return Promise.reject(error);
  }
}

/**
 * Proves that the provider signed the body (provider interface, section 6.3).
 * @throws HooklineError UNAUTHENTIC for every cause alike: no header, a malformed one, a wrong one, an unknown ref
 */
function verifyDelivery(
  delivery: Delivery,
  { check, header }: ClaimedSignature,
  { observer }: Pick<DeliveryPorts, 'observer'>,
): VerifiedDelivery {
  const key = check.finish(header, delivery.body);
  if (!key) throw new HooklineError('UNAUTHENTIC');
  observer.keyMatched(delivery.ref, 'signing', key.index);
  return markVerified(delivery, key.subscriptionId);
}
