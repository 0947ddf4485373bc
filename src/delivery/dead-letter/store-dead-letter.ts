import type { SourcePolicy } from '../../avro/event-schema.ts';
import type { Receipt, StoredDelivery } from '../../core/delivery.ts';
import { type DeadLetterStage, HooklineError, hasCode } from '../../core/errors.ts';
import {
  type ObjectReference,
  type OutgoingObject,
  type OutgoingRecord,
  type Position,
  wireBytes,
} from '../../core/record.ts';
import { eventIdOf, sha256Of } from '../../crypto/ids.ts';
import type { SealingKeys } from '../../crypto/sealing.ts';
import { deadLetterHeaders } from './dead-letter-headers.ts';
import { sealBody } from './seal-body.ts';

/** What a part's headers, key and framing take at most, in bytes. */
const PART_OVERHEAD = 4_096;

/** Where the topic refuses what should fit: under the usual max.message.bytes of 1 MiB, then half and half again. */
const FIRST_PART_BYTES = 900_000;
const MIN_PART_BYTES = 16_384;

/** Where bodies go that do not fit their record; see claim-check.ts. */
type BodyClaims = {
  readonly maxRecordBytes: number;
  uriOf(at: { readonly topic: string; readonly receivedAt: number; readonly name: string }): string;
};

/** What storing a dead-letter record needs: a part of the delivery flow's ports. */
export type DeadLetterPorts = {
  /** Full name of the dead-letter topic. */
  readonly deadLetterTopic: string;
  readonly publish: (record: OutgoingRecord, object?: OutgoingObject) => Promise<Position>;
  /** Where bodies go that do not fit; undefined: they are stored in parts. */
  readonly claims?: BodyClaims | undefined;
  readonly limitOf: (topic: string) => number;
  /** Seals bodies of types that do not keep their messages in Kafka; undefined where all types do. */
  readonly bodySealing?: SealingKeys | undefined;
  readonly observer: { deadLettered(stage: DeadLetterStage): void };
};

/** A delivery that becomes a dead-letter record, and why. */
export type DeadLetterCase = {
  readonly delivery: StoredDelivery;
  /** Of the message, where it could be read; else the id is made of the body as it arrived. */
  readonly eventId: string | undefined;
  readonly reason: HooklineError;
  readonly stage: DeadLetterStage;
  /** The policy of its type, where that could be read. */
  readonly source?: SourcePolicy | undefined;
};

/**
 * Stores a delivery in the dead-letter topic as it arrived: ciphertext stays ciphertext. A body that does not fit goes to
 * the object store; without one it goes to the topic in parts that fit, in order, all under the event's id.
 * @throws HooklineError retryable ones: nothing is promised
 */
export async function storeDeadLetter(stored: DeadLetterCase, ports: DeadLetterPorts): Promise<Receipt> {
  const { delivery, stage } = stored;
  const eventId = stored.eventId ?? eventIdOf(delivery.subscriptionId, delivery.body);
  const { claims, bodySealing } = ports;
  const isSealed = bodySealing !== undefined && stored.source !== 'keep';
  const body = isSealed ? sealBody(bodySealing, eventId, delivery) : delivery.body;
  const known = { ...stored, eventId, body, isSealed };
  if (claims) await storeWhole(known, claims, ports);
  else await storeInParts(known, ports);
  ports.observer.deadLettered(stage);
  return { eventId, stored: 'kafka' };
}

type Known = DeadLetterCase & {
  readonly eventId: string;
  /** As it is stored. */
  readonly body: Buffer;
  readonly isSealed: boolean;
};

/** In one record, with the body in it or in an object: named by its own hash, as ciphertext differs per delivery. */
async function storeWhole(known: Known, claims: BodyClaims, ports: DeadLetterPorts): Promise<void> {
  const { body } = known;
  const { receivedAt } = known.delivery;
  const topic = ports.deadLetterTopic;
  const recordOf = (value: Buffer, object?: ObjectReference): OutgoingRecord => ({
    topic,
    value,
    key: Buffer.from(known.eventId, 'latin1'),
    headers: deadLetterHeaders({ ...known, part: 1, parts: 1, ...(object && { object }) }),
  });
  try {
    const whole = recordOf(body);
    if (wireBytes(whole) <= Math.min(claims.maxRecordBytes, ports.limitOf(topic)))
      return void (await ports.publish(whole));
  } catch (error) {
    if (!hasCode(error, 'RECORD_TOO_LARGE')) throw error;
  }
  const sha256 = sha256Of(body);
  const uri = claims.uriOf({ topic, receivedAt, name: `${sha256}.bin` });
  const object = { uri, bytes: body, sha256, contentType: 'application/octet-stream' };
  try {
    await ports.publish(recordOf(Buffer.alloc(0), { uri, sha256, bytes: body.length }), object);
  } catch (error) {
    throw hasCode(error, 'RECORD_TOO_LARGE') ? takesNothing(topic, error) : error;
  }
}

async function storeInParts({ body, ...known }: Known, ports: DeadLetterPorts): Promise<void> {
  const key = Buffer.from(known.eventId, 'latin1');
  const fitting = Math.max(MIN_PART_BYTES, ports.limitOf(ports.deadLetterTopic) - PART_OVERHEAD);
  let partBytes = Math.max(1, Math.min(body.length, fitting));
  for (;;) {
    try {
      const pieces = split(body, partBytes);
      const partsOf = pieces.length > 1 ? attemptName(body, partBytes) : undefined;
      await publishAll(pieces, (value, n, parts) => {
        const headers = deadLetterHeaders({ ...known, part: n + 1, parts, partsOf });
        return ports.publish({ topic: ports.deadLetterTopic, key, value, headers });
      });
      break;
    } catch (error) {
      if (!hasCode(error, 'RECORD_TOO_LARGE')) throw error;
      if (partBytes <= MIN_PART_BYTES) throw takesNothing(ports.deadLetterTopic, error);
      partBytes = Math.max(MIN_PART_BYTES, Math.min(FIRST_PART_BYTES, Math.floor(partBytes / 2)));
    }
  }
}

/** The first part alone, as none is larger: where it is refused no smaller one stays behind. Then the others. */
async function publishAll(
  pieces: readonly Buffer[],
  publish: (piece: Buffer, n: number, count: number) => Promise<unknown>,
): Promise<void> {
  const [first = Buffer.alloc(0), ...others] = pieces;
  await publish(first, 0, pieces.length);
  const publishing = others.map((piece, n) => publish(piece, n + 1, pieces.length));
  for (const result of await Promise.allSettled(publishing))
    if (result.status === 'rejected') throw result.reason;
}

/** The row of RECORD_TOO_LARGE says 200, as such an event becomes a dead-letter record. This one is stored nowhere: the sender must be told. */
const takesNothing = (topic: string, cause: HooklineError) =>
  new HooklineError(
    'PUBLISH_REFUSED',
    `${topic} takes no part of a dead-letter record: raise its max.message.bytes`,
    {
      cause,
      topic,
    },
  );

/** What a sealed body has of its own is within these ends. All of 50 MB would take long. */
const END_BYTES = 256;

/** The same for all parts of one attempt, and for no other: each seals the body anew, and may split it at other places. */
function attemptName(body: Buffer, partBytes: number): string {
  const sizes = Buffer.from(`${body.length} ${partBytes} `);
  return sha256Of(Buffer.concat([sizes, body.subarray(0, END_BYTES), body.subarray(-END_BYTES)])).slice(
    0,
    32,
  );
}

function split(body: Buffer, partBytes: number): Buffer[] {
  const count = Math.max(1, Math.ceil(body.length / partBytes));
  return Array.from({ length: count }, (_, n) => body.subarray(n * partBytes, (n + 1) * partBytes));
}
