import type { Delivery, ReadMessage, Receipt, VerifiedDelivery } from '../core/delivery.ts';
import { HooklineError } from '../core/errors.ts';
import type { SignatureCheck } from '../crypto/signature.ts';
import type { DeliveryParts } from './delivery-parts.ts';
import { encodeEvent } from './encode-event.ts';
import { openMessage } from './open-message.ts';
import { parkDelivery } from './park-delivery.ts';
import { readMessage } from './read-message.ts';
import { verifyDelivery } from './verify-delivery.ts';

/**
 * The whole way of one webhook: verified, opened, read, encoded, published; or, where sending it again would not
 * help, parked among the dead letters. When this resolves, the event is stored durably.
 * @throws HooklineError UNAUTHENTIC: it is nowhere; retryable ones: nothing is promised
 */
export async function acceptDelivery(
  delivery: Delivery,
  signature: { readonly check: SignatureCheck; readonly header: string | undefined },
  parts: DeliveryParts,
): Promise<Receipt> {
  return storeDelivery(verifyDelivery(delivery, signature, parts), parts);
}

/** The way behind the signature. A redriven dead letter and a drained spool entry enter here. */
export async function storeDelivery(delivery: VerifiedDelivery, parts: DeliveryParts): Promise<Receipt> {
  let message: ReadMessage | undefined;
  try {
    message = readMessage(openMessage(delivery, parts));
    await parts.publish(encodeEvent(message, parts));
    return { eventId: message.eventId, stored: 'kafka' };
  } catch (error) {
    if (!(error instanceof HooklineError && error.deadLetter)) throw error;
    return parkDelivery(
      { delivery, eventId: message?.eventId, reason: error, stage: error.deadLetter },
      parts,
    );
  }
}
