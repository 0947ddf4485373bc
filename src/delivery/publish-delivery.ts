import type { Receipt, VerifiedDelivery } from '../core/delivery.ts';
import { HooklineError } from '../core/errors.ts';
import type { OutgoingRecord } from '../core/record.ts';
import { eventIdOf } from '../crypto/ids.ts';
import { storeDeadLetter } from './dead-letter/store-dead-letter.ts';
import { openMessage } from './open-message.ts';
import type { DeliveryPorts } from './ports.ts';
import { readEvent, readEventId } from './read-event.ts';

/**
 * The way of a verified delivery to Kafka: opened, read, encoded, published; or, where sending it again would not
 * help, stored as a dead-letter record. Drained spool rows and redriven deliveries enter here too.
 * @throws HooklineError retryable ones: nothing is promised
 */
export async function publishDelivery(delivery: VerifiedDelivery, ports: DeliveryPorts): Promise<Receipt> {
  const known: { eventId?: string } = {};
  try {
    const record = encodeEvent(delivery, known, ports);
    await ports.publish(record);
    return { eventId: known.eventId as string, stored: 'kafka' };
  } catch (error) {
    if (!isForDeadLetters(error)) throw error;
    return storeDeadLetter(
      { delivery, eventId: known.eventId, reason: error, stage: error.deadLetter },
      ports,
    );
  }
}

/**
 * The event's record. What 50 MB become on the way to it is not held while the record is published.
 * @throws HooklineError UNDECRYPTABLE, UNPARSABLE, UNENCODABLE
 */
function encodeEvent(
  delivery: VerifiedDelivery,
  known: { eventId?: string },
  ports: DeliveryPorts,
): OutgoingRecord {
  const { message, eventId, encode } = openMessage(delivery, ports, (opened) => readEvent(opened, ports));
  known.eventId = eventId;
  const record = encode();
  if (message.buffer !== delivery.body.buffer) ports.memory?.give(message);
  return record;
}

/** Counts nothing: the delivery is counted when it is published. */
const SILENT_OBSERVER = { keyMatched() {}, drift() {}, unclassified() {}, deadLettered() {} };

/**
 * The id of the event that a delivery becomes: of its message where that can be read, else of the body as it arrived,
 * as its dead-letter record has it.
 */
export function deliveryIdOf(
  delivery: VerifiedDelivery,
  { layout, encryptionKeysOf }: Pick<DeliveryPorts, 'layout' | 'encryptionKeysOf'>,
): string {
  try {
    return openMessage(delivery, { layout, encryptionKeysOf, observer: SILENT_OBSERVER }, readEventId);
  } catch (error) {
    if (!isForDeadLetters(error)) throw error;
    return eventIdOf(delivery.subscriptionId, delivery.body);
  }
}

type DeadLetterError = HooklineError & { readonly deadLetter: NonNullable<HooklineError['deadLetter']> };

const isForDeadLetters = (error: unknown): error is DeadLetterError =>
  error instanceof HooklineError && error.deadLetter !== undefined;
