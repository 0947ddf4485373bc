import type { Receipt, StoredDelivery } from '../../core/delivery.ts';
import { type DeadLetterStage, HooklineError, hasCode } from '../../core/errors.ts';
import type { OutgoingRecord, Position } from '../../core/record.ts';
import { eventIdOf } from '../../crypto/ids.ts';
import type { Metrics } from '../../runtime/metrics.ts';

/** What a part's headers, key and framing take at most, in bytes. */
const PART_OVERHEAD = 4_096;

/** Where the topic refuses what should fit: under the usual max.message.bytes of 1 MiB, then half and half again. */
const FIRST_PART_BYTES = 900_000;
const MIN_PART_BYTES = 16_384;

/** What storing a dead-letter record needs: a part of the delivery flow's ports. */
export type DeadLetterPorts = {
  /** Full name of the dead-letter topic. */
  readonly deadLetterTopic: string;
  readonly publish: (record: OutgoingRecord) => Promise<Position>;
  readonly limitOf: (topic: string) => number;
  readonly observer: { deadLettered(stage: DeadLetterStage): void };
};

/** A delivery that becomes a dead-letter record, and why. */
export type DeadLetterCase = {
  readonly delivery: StoredDelivery;
  /** Of the message, where it could be read; else the id is made of the body as it arrived. */
  readonly eventId: string | undefined;
  readonly reason: HooklineError;
  readonly stage: DeadLetterStage;
};

/**
 * Stores a delivery in the dead-letter topic as it arrived: ciphertext stays ciphertext. Where the topic does
 * not take it whole it goes in parts that fit, in order, all under the event's id.
 * @throws HooklineError retryable ones: nothing is promised
 */
export async function storeDeadLetter(
  { delivery, reason, stage, ...known }: DeadLetterCase,
  ports: DeadLetterPorts,
): Promise<Receipt> {
  const eventId = known.eventId ?? eventIdOf(delivery.subscriptionId, delivery.body);
  const key = Buffer.from(eventId, 'latin1');
  const publishPart = (value: Buffer, n: number, count: number) => {
    const headers = deadLetterHeaders({ delivery, eventId, stage, reason, part: n + 1, parts: count });
    return ports.publish({ topic: ports.deadLetterTopic, key, value, headers });
  };
  const fitting = Math.max(MIN_PART_BYTES, ports.limitOf(ports.deadLetterTopic) - PART_OVERHEAD);
  let partBytes = Math.max(1, Math.min(delivery.body.length, fitting));
  for (;;) {
    try {
      await publishAll(split(delivery.body, partBytes), publishPart);
      break;
    } catch (error) {
      if (!hasCode(error, 'RECORD_TOO_LARGE')) throw error;
      if (partBytes <= MIN_PART_BYTES) throw takesNothing(ports.deadLetterTopic, error);
      partBytes = Math.max(MIN_PART_BYTES, Math.min(FIRST_PART_BYTES, Math.floor(partBytes / 2)));
    }
  }
  ports.observer.deadLettered(stage);
  return { eventId, stored: 'kafka' };
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

function split(body: Buffer, partBytes: number): Buffer[] {
  const count = Math.max(1, Math.ceil(body.length / partBytes));
  return Array.from({ length: count }, (_, n) => body.subarray(n * partBytes, (n + 1) * partBytes));
}

/** Why a record is in the dead-letter topic, under Kafka Connect's names, and what a redrive needs to send it the same way again. */
export const DEAD_LETTER_HEADERS = {
  stage: '__connect.errors.stage',
  code: '__connect.errors.exception.class.name',
  message: '__connect.errors.exception.message',
  topic: '__connect.errors.topic',
  partition: '__connect.errors.partition',
  offset: '__connect.errors.offset',
  connector: '__connect.errors.connector.name',
  ref: 'hookline.ref',
  subscriptionId: 'hookline.subscription-id',
  mediaType: 'hookline.media-type',
  receivedAt: 'hookline.received-at',
  eventId: 'hookline.event-id',
  part: 'hookline.part',
  parts: 'hookline.parts',
  /** Of a command: it has its result, under this id. */
  commandId: 'hookline.command-id',
  /** On what a redrive stored, an event or a dead-letter record again. */
  redrivenAt: 'hookline.redriven-at',
  redrivenFrom: 'hookline.redriven-from',
  redriveCount: 'hookline.redrive-count',
  /** On the marker that a redrive leaves behind: which dead-letter record it stored, and where. */
  redriveOf: 'hookline.redrive-of',
  redrivenTo: 'hookline.redriven-to',
  traceparent: 'traceparent',
} as const;

type DeadLetter = {
  readonly delivery: StoredDelivery;
  readonly eventId: string;
  readonly stage: DeadLetterStage;
  readonly reason: HooklineError;
  readonly part: number;
  readonly parts: number;
};

/** Never plaintext, keys or secrets: the reason's text comes from the error table. */
export function deadLetterHeaders({
  delivery,
  eventId,
  stage,
  reason,
  part,
  parts,
}: DeadLetter): Map<Buffer, Buffer> {
  const names = DEAD_LETTER_HEADERS;
  const texts: Record<string, string | undefined> = {
    [names.stage]: stage,
    [names.code]: reason.code,
    [names.message]: reason.message,
    [names.topic]: reason.topic,
    [names.connector]: 'hookline',
    [names.ref]: delivery.ref,
    [names.subscriptionId]: delivery.subscriptionId,
    [names.mediaType]: delivery.mediaType,
    [names.receivedAt]: String(delivery.receivedAt),
    [names.eventId]: eventId,
    [names.part]: String(part),
    [names.parts]: String(parts),
    [names.traceparent]: delivery.traceparent,
  };
  return toHeaders(texts);
}

/** Headers as bytes; those without a value are left out. */
export function toHeaders(texts: Readonly<Record<string, string | undefined>>): Map<Buffer, Buffer> {
  const headers = new Map<Buffer, Buffer>();
  for (const [name, text] of Object.entries(texts)) {
    if (text !== undefined) headers.set(Buffer.from(name), Buffer.from(text));
  }
  return headers;
}

/** Counts dead-letter records, of webhooks and of commands. */
export const deadLetterMetrics = (metrics: Metrics) => ({
  deadLetters: metrics.counter({
    name: 'hookline_dead_letters_total',
    help: 'Records sent to the dead-letter topic, by stage',
    labels: ['stage'],
  }),
});
