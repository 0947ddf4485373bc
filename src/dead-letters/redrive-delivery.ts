import { type Delivery, restoreVerified, type VerifiedDelivery } from '../core/delivery.ts';
import { isRef } from '../core/names.ts';
import type { OutgoingRecord, Position } from '../core/record.ts';
import { DEAD_LETTER_HEADERS as NAMES, toHeaders } from '../delivery/dead-letter/dead-letter-headers.ts';
import { isUnopened } from '../delivery/open-message.ts';
import type { DeliveryPorts } from '../delivery/ports.ts';
import { identifyDelivery, publishDelivery } from '../delivery/publish-delivery.ts';
import { type DeadLetter, redrivesOf } from './dead-letters.ts';
import type { Redelivery } from './open-redelivery.ts';

/** Where a redriven delivery is stored now. `code` is null unless it was dead-lettered again. */
export type RedrivenDelivery = {
  readonly eventId: string;
  readonly position: Position;
  readonly code: string | null;
};

/**
 * No key opens the body now. Another dead-letter record would be younger than this one: it would outlive the keys that are kept for
 * it, and hide from the alert before retention deletes it.
 */
export class BodyUnopened extends Error {
  readonly code: string;
  constructor(code: string, { ref, subscriptionId }: VerifiedDelivery) {
    super(
      `no encryption key of ${ref} opens it, and it stays as it is: put the key of its subscription, ${subscriptionId}, into SECRETS_DIR/${ref}/encryption-key, or correct ENCRYPTION_LAYOUT`,
    );
    this.code = code;
  }
}

/** Its body was sealed, and by the schemas that are read now its message would be readable in Kafka. */
export class WouldBeReadable extends Error {
  constructor(at: string) {
    super(
      `its body is sealed, and by the schemas that are read now its message would be readable in Kafka: set SCHEMAS_DIR to the schemas that ingress had, or dismiss it (hookline dlq dismiss --filter at=${at} --reason WHY)`,
    );
  }
}

/**
 * Processes a dead-lettered delivery again as a webhook, with the current keys, schemas and limits. Headers of the stored
 * record say when and from where it was redriven.
 * @returns null if the headers do not identify the delivery
 * @throws HooklineError a retryable one, BodyUnopened: nothing was stored, the dead-letter record is unchanged
 * @throws WouldBeReadable
 */
export async function redriveDelivery(
  deadLetter: DeadLetter,
  body: Buffer,
  { delivery: ports, send, storing }: Pick<Redelivery, 'delivery' | 'send' | 'storing'>,
): Promise<RedrivenDelivery | null> {
  const delivery = restoreDeadLetter(deadLetter, body);
  if (!delivery) return null;
  checkPolicy(deadLetter, delivery, ports);
  let stored: { record: OutgoingRecord; position: Position } | undefined;
  const marks = redriveMarks(deadLetter, ports.deadLetterTopic);
  const store = storing(async (record) => {
    const position = await send({ ...record, headers: new Map([...record.headers, ...marks]) });
    stored ??= { record, position };
    return position;
  });
  const isDeadLetter = ({ topic }: OutgoingRecord) => topic === ports.deadLetterTopic;
  // Before anything is stored of it, an object included.
  const publish: DeliveryPorts['publish'] = async (record, object) => {
    const code = isDeadLetter(record) ? headerOf(record, NAMES.code) : '';
    if (isUnopened(code, headerOf(record, NAMES.message))) throw new BodyUnopened(code, delivery);
    return store(record, object);
  };
  const { eventId } = await publishDelivery(delivery, { ...ports, publish });
  if (!stored) throw new TypeError(`${deadLetter.at} was stored without being published`);
  const code = isDeadLetter(stored.record) ? headerOf(stored.record, NAMES.code) : null;
  return { eventId, position: stored.position, code };
}

/**
 * A body was sealed because its type keeps no message in Kafka, or as a type that cannot be read may be such a one. The schemas of
 * this process can say something else: they are not those of ingress then.
 */
function checkPolicy({ headers, at }: DeadLetter, delivery: VerifiedDelivery, ports: DeliveryPorts): void {
  if (headers[NAMES.sealed] === undefined) return;
  const wasTypeRead = headers[NAMES.topic] !== undefined;
  const isKept = () => wasTypeRead && identifyDelivery(delivery, ports).source === 'keep';
  if (ports.bodySealing === undefined || isKept()) throw new WouldBeReadable(at);
}

/** The same for all whose order counts: deliveries of one entity, and commands of one ref. */
export function orderOfDeadLetter(
  deadLetter: DeadLetter,
  body: Buffer | Error | undefined,
  ports: DeliveryPorts,
): string {
  const { headers, key, at } = deadLetter;
  if (headers[NAMES.stage] === 'COMMAND') return `command ${headers[NAMES.topic]} ${key ?? at}`;
  const delivery = Buffer.isBuffer(body) ? restoreDeadLetter(deadLetter, body) : null;
  try {
    if (delivery) return identifyDelivery(delivery, ports).order;
  } catch {
    // Its own try says what is wrong with it.
  }
  return `record ${at}`;
}

/** Its signature was verified before it was dead-lettered, except at stage SPOOL. */
function restoreDeadLetter({ headers }: DeadLetter, body: Buffer): VerifiedDelivery | null {
  const ref = headers[NAMES.ref];
  // Nothing depends on the media type: a record without it is redriven too.
  const mediaType: Delivery['mediaType'] = headers[NAMES.mediaType] === 'json' ? 'json' : 'octet-stream';
  const subscriptionId = headers[NAMES.subscriptionId];
  const receivedAt = Number(headers[NAMES.receivedAt]);
  // Records of stage SPOOL were changed on the volume: nothing proves that their bytes come from the provider.
  if (!isRef(ref) || headers[NAMES.stage] === 'SPOOL') return null;
  if (subscriptionId === undefined || !Number.isSafeInteger(receivedAt)) return null;
  const traceparent = headers[NAMES.traceparent];
  return restoreVerified({ ref, mediaType, body, receivedAt, traceparent, subscriptionId });
}

/** Headers that a redriven record has in addition to its own. */
export function redriveMarks(deadLetter: DeadLetter, deadLetterTopic: string): ReadonlyMap<Buffer, Buffer> {
  return toHeaders({
    [NAMES.redrivenAt]: String(Date.now()),
    [NAMES.redrivenFrom]: `${deadLetterTopic}/${deadLetter.at}`,
    [NAMES.redriveCount]: String(redrivesOf(deadLetter) + 1),
  });
}

function headerOf({ headers }: OutgoingRecord, wanted: string): string {
  for (const [name, value] of headers) if (name.toString() === wanted) return value.toString();
  return '';
}
