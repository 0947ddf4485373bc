import { HooklineError, hasCode } from '../core/errors.ts';
import { OWN_TOPICS, topicName } from '../core/names.ts';
import { type IncomingRecord, type ObjectReference, positionText } from '../core/record.ts';
import type { SealingKeys } from '../crypto/sealing.ts';
import { openBody } from '../delivery/dead-letter/seal-body.ts';
import { checkTopics } from '../kafka/admin/watch-safety.ts';
import { type OffsetRange, openRanges, type RangeReader, rangesOf } from '../kafka/consume/range-reader.ts';
import type { KafkaAccess } from '../kafka/open-kafka.ts';
import type { BodyStore } from '../object-store/body-store.ts';
import { orAborted } from '../runtime/or-aborted.ts';
import type { DeadLetterPosition, DeadLetterRecord } from './dead-letter-record.ts';
import type { DeadLetter } from './dead-letters.ts';
import { type DeadLetterFilter, parseFilter } from './filter.ts';
import { MatchingDeadLetters } from './matching-dead-letters.ts';

/** Reads the dead-letter topic. */
export type DeadLetterTopic = {
  /** Full name of the topic. */
  readonly topic: string;
  /** All that the topic holds now and the filter matches, sorted by time. Reads the whole topic, and keeps no body and little else. */
  all(filter?: DeadLetterFilter): Promise<DeadLetter[]>;
  /**
   * The original bytes by name (`at`), or why they cannot be had. Behind one that the object store does not give now it is
   * not asked for others, nor when `signal` has aborted.
   */
  bodiesOf(
    deadLetters: readonly DeadLetter[],
    signal?: AbortSignal,
  ): Promise<ReadonlyMap<string, Buffer | Error>>;
  stop(): Promise<void>;
};

/** What is needed to read bodies that their records do not hold as they were received. */
export type BodyAccess = {
  /** Undefined without BODY_STORE. */
  readonly bodies: BodyStore | undefined;
  /** Undefined without SEALING_KEY_FILE. */
  readonly sealingKeys: SealingKeys | undefined;
};

/** @param signal ends the wait for brokers that do not answer: until the topic is open, and in `all` */
export async function openDeadLetterTopic(
  kafka: KafkaAccess,
  prefix: string,
  { bodies, sealingKeys }: BodyAccess,
  signal: AbortSignal,
): Promise<DeadLetterTopic> {
  const topic = topicName(prefix, OWN_TOPICS.deadLetter);
  await orAborted(checkTopics(kafka.client, [topic]), signal);
  const reader = await openRanges({ ...kafka, topic, opening: signal });
  const openOne = (body: Buffer | Error | undefined, headers: DeadLetter['headers']) => {
    try {
      return Buffer.isBuffer(body) ? openBody(sealingKeys, headers, body) : body;
    } catch (cause) {
      if (!hasCode(cause, 'BODY_SEALED')) return cause as Error;
      const remedy = 'add the key that sealed it to SEALING_KEY_FILE';
      return new HooklineError('BODY_SEALED', undefined, { cause, remedy });
    }
  };
  return {
    topic,
    all: (filter = parseFilter()) => orAborted(readAll(reader, filter), signal),
    async bodiesOf(deadLetters, fetching) {
      const referring = deadLetters.filter(({ object }) => object !== null);
      const holding = deadLetters.filter(({ object }) => object === null);
      const found = new Map([
        ...(await readBodies(reader, holding)),
        ...(await fetchBodies(bodies, referring, fetching)),
      ]);
      const opened = deadLetters.map(({ at, headers }) => [at, openOne(found.get(at), headers)] as const);
      return new Map(opened.filter((one): one is [string, Buffer | Error] => one[1] !== undefined));
    },
    async stop() {
      bodies?.close();
      await reader.stop();
    },
  };
}

/** Of more positions than this the topic itself is read sooner than each of them. */
const MAX_READ_AHEAD = 100;

/** Where the filter names positions, their records are read first: then nothing else has to be held, of the same delivery or not. */
export async function readAll(
  reader: Pick<RangeReader, 'span' | 'read'>,
  filter: DeadLetterFilter,
): Promise<DeadLetter[]> {
  const span = await reader.span();
  const { positions } = filter;
  const isAhead = positions.length > 0 && positions.length <= MAX_READ_AHEAD;
  const matching = new MatchingDeadLetters(filter, isAhead ? await readNamed(reader, span, positions) : null);
  await reader.read(span, (record) => matching.take(withoutBody(record)));
  return matching.deadLetters();
}

async function readNamed(
  reader: Pick<RangeReader, 'read'>,
  span: readonly OffsetRange[],
  positions: readonly DeadLetterPosition[],
): Promise<DeadLetterRecord[]> {
  const isThere = ({ partition, offset }: DeadLetterPosition) =>
    span.some((range) => range.partition === partition && range.from <= offset && offset < range.to);
  const there = positions.filter(isThere);
  const wanted = new Set(there.map(positionText));
  const named: DeadLetterRecord[] = [];
  for (const ranges of rangesOf(there)) {
    await reader.read(ranges, (record) => {
      if (wanted.has(positionText(record))) named.push(withoutBody(record));
    });
  }
  return named;
}

const withoutBody = ({ partition, offset, timestamp, key, value, headers }: IncomingRecord) => {
  const bytes = value?.length ?? 0;
  return { partition, offset, timestamp, key: key?.toString() ?? null, bytes, headers };
};

async function readBodies(reader: RangeReader, deadLetters: readonly DeadLetter[]) {
  const positions = deadLetters.flatMap((deadLetter) => deadLetter.positions);
  const wanted = new Set(positions.map(positionText));
  const values = new Map<string, Buffer>();
  for (const ranges of rangesOf(positions)) {
    await reader.read(ranges, (record) => {
      const position = positionText(record);
      if (wanted.has(position)) values.set(position, record.value ?? Buffer.alloc(0));
    });
  }
  return new Map(deadLetters.map((deadLetter) => [deadLetter.at, join(deadLetter.positions, values)]));
}

function join(positions: readonly DeadLetterPosition[], values: ReadonlyMap<string, Buffer>): Buffer | Error {
  const parts = positions.flatMap((position) => values.get(positionText(position)) ?? []);
  if (parts.length < positions.length) return new DeletedByRetention('retention has deleted it');
  return parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
}

class DeletedByRetention extends Error {}

/**
 * It could not be read, and may be later, as with other settings: nothing of its entity may be stored before. Not so where Kafka has
 * deleted it, or where the store itself says that it does not have it.
 */
export const isUnreadNow = (body: Buffer | Error | undefined): boolean =>
  body instanceof Error && !(body instanceof DeletedByRetention) && !hasCode(body, 'OBJECT_MISSING');

/** One after the other: each may have 50 MB. */
export async function fetchBodies(
  bodies: Pick<BodyStore, 'read' | 'keyOf'> | undefined,
  deadLetters: readonly DeadLetter[],
  signal: AbortSignal | undefined,
): Promise<Map<string, Buffer | Error>> {
  const found = new Map<string, Buffer | Error>();
  let unread: Error | undefined;
  for (const { at, object } of deadLetters) {
    if (!object) continue;
    if (unread || signal?.aborted) {
      if (unread) found.set(at, unread);
      continue;
    }
    const body = await fetchBody(bodies, object).catch((error: Error) => error);
    if (isUnreadNow(body)) unread = body as Error;
    found.set(at, body);
  }
  return found;
}

async function fetchBody(
  bodies: Pick<BodyStore, 'read' | 'keyOf'> | undefined,
  object: ObjectReference,
): Promise<Buffer> {
  if (!bodies) throw new Error(`its body is in the object store, at ${object.uri}: set BODY_STORE`);
  try {
    bodies.keyOf(object.uri);
  } catch {
    throw new Error(`its body is at ${object.uri}, and BODY_STORE names another bucket: set the earlier one`);
  }
  return bodies.read(object).catch((error: Error) => {
    if (!hasCode(error, 'OBJECT_CHANGED')) throw error;
    const remedy = 'check what answers at BODY_STORE_ENDPOINT, or whether the object itself was changed';
    throw new HooklineError('OBJECT_CHANGED', object.uri, { cause: error, remedy });
  });
}
