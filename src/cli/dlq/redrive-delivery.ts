import { type Delivery, restoreVerified, type VerifiedDelivery } from '../../core/delivery.ts';
import { isRef } from '../../core/names.ts';
import type { OutgoingRecord, Position } from '../../core/record.ts';
import { DEAD_LETTER_HEADERS as NAMES, toHeaders } from '../../delivery/dead-letter/store-dead-letter.ts';
import type { DeliveryPorts } from '../../delivery/ports.ts';
import { publishDelivery } from '../../delivery/publish-delivery.ts';
import { type DeadLetter, placeText, redrivesOf } from './dead-letters.ts';

/** Where a redriven dead letter is now; `code` where it is a dead letter again. */
export type Redriven = {
  readonly eventId: string;
  readonly position: Position;
  readonly code: string | null;
};

/** As many places stand in a marker: one would do, more outlive the retention of the first. */
const PLACES_IN_MARKER = 20;

/**
 * Sends a parked delivery the way that it took when it came, with the keys, schemas and limits of now. What is stored
 * of it says that it was redriven, when and from where.
 * @returns null where the letter's headers don't tell enough of the delivery
 * @throws HooklineError retryable ones: it was not stored, the letter stays as it is
 */
export async function redriveDelivery(
  letter: DeadLetter,
  body: Buffer,
  parts: DeliveryPorts,
): Promise<Redriven | null> {
  const delivery = restoreDeadLetter(letter, body);
  if (!delivery) return null;
  let stored: { record: OutgoingRecord; position: Position } | undefined;
  const marks = redriveMarks(letter, parts.deadLetterTopic);
  const publish = async (record: OutgoingRecord) => {
    const position = await parts.publish({ ...record, headers: new Map([...record.headers, ...marks]) });
    stored ??= { record, position };
    return position;
  };
  const { eventId } = await publishDelivery(delivery, { ...parts, publish });
  if (!stored) throw new TypeError(`${letter.at} was stored without being published`);
  const isLetter = stored.record.topic === parts.deadLetterTopic;
  return { eventId, position: stored.position, code: isLetter ? codeOf(stored.record) : null };
}

/** The delivery as it was when it had been verified: its signature was checked before it was parked. */
function restoreDeadLetter({ headers }: DeadLetter, body: Buffer): VerifiedDelivery | null {
  const ref = headers[NAMES.ref];
  // It decides nothing: a record without it, or with another, is redriven all the same.
  const mediaType: Delivery['mediaType'] = headers[NAMES.mediaType] === 'json' ? 'json' : 'octet-stream';
  const subscriptionId = headers[NAMES.subscriptionId];
  const receivedAt = Number(headers[NAMES.receivedAt]);
  // Whatever calls this: such bytes were never proved to be the provider's.
  if (!isRef(ref) || headers[NAMES.stage] === 'SPOOL') return null;
  if (subscriptionId === undefined || !Number.isSafeInteger(receivedAt)) return null;
  const traceparent = headers[NAMES.traceparent];
  return restoreVerified({ ref, mediaType, body, receivedAt, traceparent, subscriptionId });
}

/** What a redriven record bears beside its own headers. */
export function redriveMarks(letter: DeadLetter, deadLetterTopic: string): ReadonlyMap<Buffer, Buffer> {
  return toHeaders({
    [NAMES.redrivenAt]: String(Date.now()),
    [NAMES.redrivenFrom]: `${deadLetterTopic}/${letter.at}`,
    [NAMES.redriveCount]: String(redrivesOf(letter) + 1),
  });
}

/**
 * The record that remembers a redrive. Under the letter's key it stands behind it in its partition, so that retention
 * never takes it first.
 */
export function redriveMarker(letter: DeadLetter, to: string, deadLetterTopic: string): OutgoingRecord {
  const places = new Set([letter.at, ...letter.copies.slice(0, PLACES_IN_MARKER).map(placeText)]);
  return {
    topic: deadLetterTopic,
    key: Buffer.from(letter.key ?? letter.at),
    value: null,
    headers: toHeaders({ [NAMES.redriveOf]: [...places].join(','), [NAMES.redrivenTo]: to }),
  };
}

function codeOf({ headers }: OutgoingRecord): string {
  for (const [name, value] of headers) if (name.toString() === NAMES.code) return value.toString();
  return '';
}
