import type { VerifiedDelivery } from '../core/delivery.ts';
import { HooklineError } from '../core/errors.ts';
import { eventIdOf } from '../crypto/ids.ts';
import { openMessage } from './open-message.ts';
import type { DeliveryParts } from './ports.ts';
import { readEventId } from './read-event.ts';

/** Counts nothing: the delivery is counted when it goes its way. */
const UNSEEN = { keyMatched() {}, drift() {}, unclassified() {}, parked() {} };

/**
 * The event id that a delivery has, or will have, in its topic: of its message where that can be read, else of the
 * body as it arrived, as the dead letters have it.
 */
export function deliveryIdOf(
  delivery: VerifiedDelivery,
  { layout, encryptionKeysOf }: Pick<DeliveryParts, 'layout' | 'encryptionKeysOf'>,
): string {
  try {
    return openMessage(delivery, { layout, encryptionKeysOf, observer: UNSEEN }, readEventId);
  } catch (error) {
    if (!(error instanceof HooklineError && error.deadLetter)) throw error;
    return eventIdOf(delivery.subscriptionId, delivery.body);
  }
}
