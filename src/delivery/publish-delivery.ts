import type { SourcePolicy } from '../avro/event-schema.ts';
import type { DeliveryIdentity, Receipt, VerifiedDelivery } from '../core/delivery.ts';
import { HooklineError } from '../core/errors.ts';
import { eventIdOf } from '../crypto/ids.ts';
import { orderKey, type ReferringRecord } from './claim-check.ts';
import { storeDeadLetter } from './dead-letter/store-dead-letter.ts';
import type { EncodedEvent } from './encode-by-policy.ts';
import { openMessage } from './open-message.ts';
import type { DeliveryObserver, DeliveryPorts } from './ports.ts';
import { readEvent, readIdentity } from './read-event.ts';

/**
 * The way of a verified delivery to Kafka: opened, read, encoded, published; or, where sending it again would not
 * help, stored as a dead-letter record. Drained spool rows and redriven deliveries enter here too.
 * @throws HooklineError retryable ones: nothing is promised
 * @throws TooLong where the record would take more than its share of memory, see `recordRoom`
 */
export async function publishDelivery(delivery: VerifiedDelivery, ports: DeliveryPorts): Promise<Receipt> {
  const known: Known = {};
  try {
    const { record, object, message } = encodeEvent(delivery, known, ports);
    const isOwn = message.buffer !== delivery.body.buffer;
    try {
      await ports.publish(
        record,
        object && { ...object, renamed: () => renamed(encodeEvent(delivery, known, silent(ports), true)) },
      );
    } catch (error) {
      if (object && isOwn) ports.memory?.give(message, { mayBeRead: true });
      throw error;
    }
    if (object && isOwn) ports.memory?.give(message);
    return { eventId: known.eventId as string, stored: 'kafka' };
  } catch (error) {
    if (!isForDeadLetters(error)) throw error;
    return storeDeadLetter(
      { ...known, delivery, eventId: known.eventId, reason: error, stage: error.deadLetter },
      ports,
    );
  }
}

/** What is known of an event when it becomes a dead-letter record. */
type Known = { eventId?: string; source?: SourcePolicy };

/**
 * The event's record. What 50 MB become on the way to it is not held while the record is published, unless it goes to the
 * object store.
 * @param isTaken other bytes have the object's usual name
 * @throws HooklineError UNDECRYPTABLE, UNPARSABLE, UNENCODABLE
 */
function encodeEvent(
  delivery: VerifiedDelivery,
  known: Known,
  ports: DeliveryPorts,
  isTaken = false,
): EncodedEvent & { readonly message: Buffer } {
  let message = delivery.body;
  const giveBack = () => {
    if (message.buffer !== delivery.body.buffer) ports.memory?.give(message);
  };
  try {
    const { eventId, source, encode } = openMessage(delivery, ports, (opened) => {
      message = opened.message;
      return readEvent(opened, ports);
    });
    known.eventId = eventId;
    known.source = source;
    const { record, object } = encode(isTaken);
    if (!object) giveBack();
    return { record, object, message };
  } catch (error) {
    giveBack();
    throw error;
  }
}

function renamed({ record, object }: EncodedEvent): ReferringRecord {
  if (!object) throw new TypeError('an event has an object, or it has none: its bytes decide');
  return { record, object };
}

/** Counts nothing. */
export const UNOBSERVED_DELIVERIES: DeliveryObserver = {
  keyMatched() {},
  drift() {},
  unclassified() {},
  deadLettered() {},
};

/** The delivery is counted when it is published. */
const silent = (ports: DeliveryPorts): DeliveryPorts => ({ ...ports, observer: UNOBSERVED_DELIVERIES });

/**
 * The id of the event that a delivery becomes: of its message where that can be read, else of the body as it arrived,
 * as its dead-letter record has it. Where messages of its type are kept is known of the former alone.
 */
export function identifyDelivery(
  delivery: VerifiedDelivery,
  ports: Omit<DeliveryPorts, 'publish'>,
): DeliveryIdentity & { readonly source?: SourcePolicy } {
  try {
    const own = { ...ports, observer: UNOBSERVED_DELIVERIES };
    return openMessage(delivery, own, (opened) => {
      const identity = readIdentity(opened, own);
      if (opened.message.buffer !== delivery.body.buffer) ports.memory?.give(opened.message);
      return identity;
    });
  } catch (error) {
    if (!isForDeadLetters(error)) throw error;
    const eventId = eventIdOf(delivery.subscriptionId, delivery.body);
    const key = Buffer.from(eventId, 'latin1');
    return { eventId, order: orderKey({ topic: ports.deadLetterTopic, key }) };
  }
}

type DeadLetterError = HooklineError & { readonly deadLetter: NonNullable<HooklineError['deadLetter']> };

const isForDeadLetters = (error: unknown): error is DeadLetterError =>
  error instanceof HooklineError && error.deadLetter !== undefined;
