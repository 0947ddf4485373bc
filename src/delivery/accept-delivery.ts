import { type Delivery, markVerified, type Receipt, type VerifiedDelivery } from '../core/delivery.ts';
import { HooklineError } from '../core/errors.ts';
import type { OutgoingRecord } from '../core/record.ts';
import type { SignatureCheck } from '../crypto/signature.ts';
import { parkDelivery } from './dead-letter/store-dead-letter.ts';
import { openMessage } from './open-message.ts';
import type { DeliveryParts } from './ports.ts';
import { readEvent } from './read-event.ts';

/**
 * The whole way of one webhook: verified, opened, read, encoded, published; or, where sending it again would not
 * help, parked among the dead letters; or, while Kafka is away, spooled. When this resolves, it is stored durably.
 * @throws HooklineError UNAUTHENTIC: it is nowhere; retryable ones: nothing is promised
 */
export async function acceptDelivery(
  delivery: Delivery,
  signature: { readonly check: SignatureCheck; readonly header: string | undefined },
  parts: AcceptParts,
): Promise<Receipt> {
  return parts.store(verifyDelivery(delivery, signature, parts));
}

/**
 * Proves that the payment service signed the body (interface, section 6.3). The check has seen the body as it arrived.
 * @throws HooklineError UNAUTHENTIC for every cause alike: no header, a malformed one, a wrong one, an unknown ref
 */
function verifyDelivery(
  delivery: Delivery,
  signature: { readonly check: SignatureCheck; readonly header: string | undefined },
  parts: Pick<DeliveryParts, 'observer'>,
): VerifiedDelivery {
  const key = signature.check.finish(signature.header, delivery.body);
  if (!key) throw new HooklineError('UNAUTHENTIC');
  parts.observer.keyMatched(delivery.ref, 'signing', key.place);
  return markVerified(delivery, key.subscriptionId);
}

/** What a webhook needs on its way. */
export type AcceptParts = Pick<DeliveryParts, 'observer'> & {
  /** Stores a verified delivery: {@link storeDelivery}, or a store with a spool in front of it. */
  readonly store: (delivery: VerifiedDelivery) => Promise<Receipt>;
};

/** The way behind the signature. A redriven dead letter and a drained spool entry enter here. */
export async function storeDelivery(delivery: VerifiedDelivery, parts: DeliveryParts): Promise<Receipt> {
  const known: { eventId?: string } = {};
  try {
    const record = recordOf(delivery, known, parts);
    await parts.publish(record);
    return { eventId: known.eventId as string, stored: 'kafka' };
  } catch (error) {
    if (!(error instanceof HooklineError && error.deadLetter)) throw error;
    return parkDelivery({ delivery, eventId: known.eventId, reason: error, stage: error.deadLetter }, parts);
  }
}

/** What 50 MB become on the way to a record is not held while the record is published. */
function recordOf(
  delivery: VerifiedDelivery,
  known: { eventId?: string },
  parts: DeliveryParts,
): OutgoingRecord {
  const { message, eventId, encode } = openMessage(delivery, parts, (opened) => readEvent(opened, parts));
  known.eventId = eventId;
  const record = encode();
  if (message.buffer !== delivery.body.buffer) parts.memory?.give(message);
  return record;
}
