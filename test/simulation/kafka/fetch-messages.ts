import { hash } from 'node:crypto';
import { answerTo, type Head } from './protocol.ts';
import type { WireReader, WireWriter } from './wire.ts';

/** Since then topics of a Fetch request are named by their ids. */
export const FETCHES_BY_ID = 13;
/** The reader of a Fetch request is a consumer, and says so no longer. */
const NO_REPLICA_ID = 15;
const LIST_WITH_EPOCHS = 4;

type TopicId = { readonly bytes: Buffer; readonly hex: string };
const topicIds = new Map<string, TopicId>();

/** Sixteen bytes, as clients send them back. */
export function topicIdOf(topic: string): TopicId {
  const known = topicIds.get(topic);
  if (known) return known;
  const hex = hash('md5', topic, 'hex');
  const id = { bytes: Buffer.from(hex, 'hex'), hex };
  topicIds.set(topic, id);
  return id;
}

/** By their digits: those that were asked for and are of no topic are few. */
const idBytes = new Map<string, Buffer>();

function bytesOf(hex: string): Buffer {
  const known = idBytes.get(hex);
  if (known) return known;
  const bytes = Buffer.from(hex, 'hex');
  idBytes.set(hex, bytes);
  return bytes;
}

export type FetchRequest = {
  readonly kind: 'fetch';
  readonly maxWaitMs: number;
  readonly partitions: readonly FetchedFrom[];
};
type FetchedFrom = {
  /** Its name; or, as hexadecimal digits, its id. */
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
};

export type ListOffsetsRequest = {
  readonly kind: 'list-offsets';
  readonly partitions: readonly {
    readonly topic: string;
    readonly partition: number;
    readonly timestamp: number;
  }[];
};

export function readFetch(reader: WireReader, version: number): FetchRequest {
  if (version < NO_REPLICA_ID) reader.int32();
  const maxWaitMs = reader.int32();
  reader.skip(4 + 4 + 1 + 4 + 4); // at least, at most, isolation level, session and its epoch
  const partitions = reader.array(() => {
    const topic = version >= FETCHES_BY_ID ? reader.text(16, 'hex') : (reader.string() ?? '');
    const of = reader.array(() => {
      const partition = reader.int32();
      reader.int32(); // the leader's epoch
      const offset = Number(reader.int64());
      if (version >= 12) reader.int32();
      reader.skip(8 + 4); // where the log starts, at most
      reader.tags();
      return { topic, partition, offset };
    });
    reader.tags();
    return of ?? [];
  });
  return { kind: 'fetch', maxWaitMs, partitions: (partitions ?? []).flat() };
}

export type FetchAnswer = {
  readonly topic: string;
  readonly partition: number;
  readonly code: number;
  readonly watermark: number;
  readonly records: Buffer;
};

export function fetchAnswer(request: Head, answers: readonly FetchAnswer[]): Buffer {
  const writer = answerTo(request);
  writer.int32(0);
  writer.int16(0);
  writer.int32(0); // no session: each request says all that it wants
  writer.array([...Map.groupBy(answers, ({ topic }) => topic)], ([topic, partitions]) => {
    if (request.version >= FETCHES_BY_ID) writer.raw(bytesOf(topic));
    else writer.string(topic);
    writer.array(partitions, (answer) => writeFetched(writer, answer));
    writer.tags();
  });
  writer.tags();
  return writer.frame();
}

function writeFetched(writer: WireWriter, { partition, code, watermark, records }: FetchAnswer): void {
  writer.int32(partition);
  writer.int16(code);
  writer.int64(BigInt(watermark));
  writer.int64(BigInt(watermark)); // no transaction is open
  writer.int64(code === 0 ? 0n : -1n);
  if (isFromLog(code)) writer.noArray();
  else writer.array([], () => {});
  writer.int32(-1);
  if (writer.isFlexible) writer.unsigned(records.length + 1);
  else writer.int32(records.length);
  writer.raw(records);
  writer.tags();
}

/** OFFSET_OUT_OF_RANGE and NOT_LEADER_OR_FOLLOWER: the log has refused it, and tells of no transactions. */
const isFromLog = (code: number) => code === 1 || code === 6;

export function readListOffsets(reader: WireReader, version: number): ListOffsetsRequest {
  reader.skip(4 + 1);
  const partitions = reader.array(() => {
    const topic = reader.string() ?? '';
    const of = reader.array(() => {
      const partition = reader.int32();
      if (version >= LIST_WITH_EPOCHS) reader.int32();
      const timestamp = Number(reader.int64());
      reader.tags();
      return { topic, partition, timestamp };
    });
    reader.tags();
    return of ?? [];
  });
  return { kind: 'list-offsets', partitions: (partitions ?? []).flat() };
}

export type ListedOffset = {
  readonly topic: string;
  readonly partition: number;
  readonly code: number;
  readonly offset: number;
  /** Of the leader's that wrote there; -1: nothing is there. */
  readonly epoch: number;
};

export function listOffsetsAnswer(request: Head, listed: readonly ListedOffset[]): Buffer {
  const writer = answerTo(request);
  writer.int32(0);
  writer.array([...Map.groupBy(listed, ({ topic }) => topic)], ([topic, partitions]) => {
    writer.string(topic);
    writer.array(partitions, ({ partition, code, offset, epoch }) => {
      writer.int32(partition);
      writer.int16(code);
      writer.int64(-1n);
      writer.int64(BigInt(offset));
      if (request.version >= LIST_WITH_EPOCHS) writer.int32(epoch);
      writer.tags();
    });
    writer.tags();
  });
  writer.tags();
  return writer.frame();
}
