import {
  type FetchRequest,
  type ListOffsetsRequest,
  readFetch,
  readListOffsets,
  topicIdOf,
} from './fetch-messages.ts';
import { type GroupRequest, readGroupRequest } from './group-messages.ts';
import { API, answerTo, type Head, isFlexible, isUnderstood, VERSIONS } from './protocol.ts';
import { WireReader, type WireWriter } from './wire.ts';

export type Request = Head &
  (
    | { readonly kind: 'versions' }
    | { readonly kind: 'metadata'; readonly topics: readonly string[] | null }
    | {
        readonly kind: 'produce';
        readonly acks: number;
        readonly timeoutMs: number;
        readonly batches: Batches;
      }
    | FetchRequest
    | ListOffsetsRequest
    | GroupRequest
  );

type Batches = readonly { readonly topic: string; readonly partition: number; readonly batch: Buffer }[];

/** @throws RangeError where it is none that the model understands: a broker would close the connection */
export function readRequest(frame: Buffer): Request {
  const reader = new WireReader(frame);
  const api = reader.int16();
  const version = reader.int16();
  const head = { api, version, correlationId: reader.int32() };
  const clientId = reader.string() ?? ''; // never compact
  if (!isUnderstood(api, version)) throw new RangeError(`request ${api} v${version}`);
  reader.isFlexible = isFlexible(api, version);
  reader.tags();
  switch (api) {
    case API.API_VERSIONS:
      return { ...head, kind: 'versions' };
    case API.METADATA:
      return { ...head, kind: 'metadata', topics: readTopics(reader, version) };
    case API.PRODUCE:
      return { ...head, kind: 'produce', ...readProduce(reader) };
    case API.FETCH:
      return { ...head, ...readFetch(reader, version) };
    case API.LIST_OFFSETS:
      return { ...head, ...readListOffsets(reader, version) };
    default:
      return { ...head, ...readGroupRequest(reader, api, clientId) };
  }
}

function readTopics(reader: WireReader, version: number): string[] | null {
  return reader.array(() => {
    if (version >= 10) reader.skip(16); // its id, which clients do not name
    const name = reader.string() ?? '';
    reader.tags();
    return name;
  });
}

function readProduce(reader: WireReader) {
  reader.string(); // transactional id
  const acks = reader.int16();
  const timeoutMs = reader.int32();
  const topics =
    reader.array(() => {
      const topic = reader.string() ?? '';
      const partitions =
        reader.array(() => {
          const partition = reader.int32();
          const batch = Buffer.from(reader.take(reader.length()));
          reader.tags();
          return { topic, partition, batch };
        }) ?? [];
      reader.tags();
      return partitions;
    }) ?? [];
  return { acks, timeoutMs, batches: topics.flat() };
}

export function versionsAnswer(request: Request): Buffer {
  const writer = answerTo(request);
  writer.int16(0);
  writer.array(VERSIONS, ([api, least, most]) => {
    writer.int16(api);
    writer.int16(least);
    writer.int16(most);
    writer.tags();
  });
  if (request.version >= 1) writer.int32(0);
  writer.tags();
  return writer.frame();
}

/** A topic as one broker knows it. */
export type TopicView = {
  readonly name: string;
  /** UNKNOWN_TOPIC_OR_PARTITION, or 0. */
  readonly code: number;
  readonly partitions: readonly {
    readonly index: number;
    readonly leader: number;
    readonly epoch: number;
    readonly replicas: readonly number[];
    readonly isr: readonly number[];
  }[];
};

type Brokers = readonly { readonly id: number; readonly host: string; readonly port: number }[];

/** LEADER_NOT_AVAILABLE is answered per partition, as brokers do it. */
export function metadataAnswer(request: Request, brokers: Brokers, topics: readonly TopicView[]): Buffer {
  const { version } = request;
  const writer = answerTo(request);
  if (version >= 3) writer.int32(0);
  writer.array(brokers, ({ id, host, port }) => {
    writer.int32(id);
    writer.string(host);
    writer.int32(port);
    writer.string(null);
    writer.tags();
  });
  if (version >= 2) writer.string('simulated');
  writer.int32(brokers[0]?.id ?? -1);
  writer.array(topics, (topic) => writeTopic(writer, version, topic));
  if (version >= 8 && version <= 10) writer.int32(-2_147_483_648);
  writer.tags();
  return writer.frame();
}

function writeTopic(writer: WireWriter, version: number, { name, code, partitions }: TopicView): void {
  writer.int16(code);
  writer.string(name);
  if (version >= 10) writer.raw(code === 0 ? topicIdOf(name).bytes : NO_ID);
  writer.int8(0);
  writer.array(partitions, ({ index, leader, epoch, replicas, isr }) => {
    writer.int16(leader < 0 ? 5 : 0);
    writer.int32(index);
    writer.int32(leader);
    if (version >= 7) writer.int32(epoch);
    writer.array(replicas, (id) => writer.int32(id));
    writer.array(isr, (id) => writer.int32(id));
    if (version >= 5) writer.array([], () => {});
    writer.tags();
  });
  if (version >= 8) writer.int32(-2_147_483_648);
  writer.tags();
}

const NO_ID = Buffer.alloc(16);

export type PartitionAnswer = {
  readonly topic: string;
  readonly partition: number;
  readonly code: number;
  readonly base: number;
};

export function produceAnswer(request: Request, answers: readonly PartitionAnswer[]): Buffer {
  const { version } = request;
  const writer = answerTo(request);
  const topics = Map.groupBy(answers, ({ topic }) => topic);
  writer.array([...topics], ([topic, partitions]) => {
    writer.string(topic);
    writer.array(partitions, ({ partition, code, base }) => {
      writer.int32(partition);
      writer.int16(code);
      writer.int64(BigInt(base));
      writer.int64(-1n); // the time of the append, which is the producer's
      if (version >= 5) writer.int64(code === 0 ? 0n : -1n);
      if (version >= 8) {
        writer.array([], () => {});
        writer.string(null);
      }
      writer.tags();
    });
    writer.tags();
  });
  writer.int32(0);
  writer.tags();
  return writer.frame();
}
