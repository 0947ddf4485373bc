import '../connect/client-patches.ts';
import { crc32c, Writer } from '@platformatic/kafka';
import { headersBytes, type RecordHeaders, writeHeaders } from '../../core/record-headers.ts';
import { signedBytes, sizedBytes, WireWriter } from '../../core/wire-writer.ts';

/** A record as it goes on the wire: all of it bytes, made once, so that every attempt sends the identical batch. */
export type WireRecord = {
  readonly key: Buffer;
  /** null is a tombstone: it forgets the key in a compacted topic. */
  readonly value: Buffer | null;
  readonly headers: RecordHeaders;
  /** Milliseconds since 1970, as Kafka's record timestamp. */
  readonly timestamp: bigint;
};

/** A batch for one partition. */
export type Batch = {
  readonly topic: string;
  readonly partition: number;
  readonly records: readonly WireRecord[];
  /** Of its records on the wire, or a few less for each. */
  readonly bytes: number;
  /** It shares its request with no other batch. */
  readonly isAlone: boolean;
  /** Asked right before the write: whether every record of the batch may still be written. */
  readonly mayBegin: () => boolean;
};

/** The first version of Produce whose request is written like this: brokers take it since Kafka 2.4. */
export const ENCODED_SINCE = 9;
/** A longer value is laid into its request by the client, in place where it can be. */
const MAX_VALUE_BYTES = 64 * 1024;

/** Whether the request of a batch is to be encoded here: of all but single large records. */
export function isEncodedHere({ records }: Batch): boolean {
  return records.length > 1 || (records[0]?.value?.length ?? 0) <= MAX_VALUE_BYTES;
}

/** Acks: the answer comes when all in-sync replicas have the batch. */
export const ALL_REPLICAS = -1;
/** Most that a request has beside its topics: transactional id, acks, timeout, number of topics, tags. */
const REQUEST_BYTES = 13;
/** Most that a topic has beside its name and its partitions: two lengths and tags. */
const TOPIC_BYTES = 9;
/** Most that a partition has beside its batch: its index, a length and tags. */
const PARTITION_BYTES = 10;
/** Of a record batch (format 2) before its records. */
const BATCH_HEAD_BYTES = 61;
/** Bytes of the head before the first one that the checksum covers, and before the first one that the length counts. */
const CHECKED_FROM = 21;
const COUNTED_FROM = 12;

/**
 * A Produce request of versions 9 to 11 in one buffer, with at most one batch for each partition: the client would make it
 * of forty pieces for each record. Byte for byte what the client makes (Kafka protocol, "Produce API" and "Record Batch"),
 * but for timestamps 2^31 ms and more from the first one, which the client writes wrongly.
 */
export function encodeProduce(batches: readonly Batch[], timeoutMs: number): Writer {
  const topics = [...Map.groupBy(batches.map(measure), ({ batch }) => batch.topic)].map(
    ([topic, measured]) => ({ name: Buffer.from(topic), measured }),
  );
  let most = REQUEST_BYTES;
  for (const { name, measured } of topics) {
    most += TOPIC_BYTES + name.length;
    for (const { length } of measured) most += PARTITION_BYTES + length;
  }
  const out = new WireWriter(Buffer.allocUnsafe(most));
  out.byte(0); // no transactional id
  out.int16(ALL_REPLICAS);
  out.int32(timeoutMs);
  out.unsigned(topics.length + 1);
  for (const { name, measured } of topics) {
    out.unsigned(name.length + 1);
    out.copy(name);
    out.unsigned(measured.length + 1);
    for (const one of measured) writePartition(out, one);
    out.byte(0); // no tags
  }
  out.byte(0); // no tags
  return Writer.create().append(out.buffer.subarray(0, out.at));
}

/** A batch, and what its bytes need. */
type Measured = {
  readonly batch: Batch;
  readonly first: bigint;
  readonly deltas: readonly number[];
  /** Of each record. */
  readonly sizes: readonly number[];
  readonly length: number;
};

function measure(batch: Batch): Measured {
  const { records } = batch;
  const first = (records[0] as WireRecord).timestamp;
  const deltas = records.map(({ timestamp }) => Number(timestamp - first));
  const sizes = records.map((record, n) => recordBytes(record, deltas[n] as number, n));
  let length = BATCH_HEAD_BYTES;
  for (const bytes of sizes) length += signedBytes(bytes) + bytes;
  return { batch, first, deltas, sizes, length };
}

function writePartition(out: WireWriter, { batch, first, deltas, sizes, length }: Measured): void {
  const { partition, records } = batch;
  out.int32(partition);
  out.unsigned(length + 1);
  const start = out.at;
  writeHead(out, { records, length, first, deltas });
  for (const [n, record] of records.entries())
    writeRecord(out, record, { bytes: sizes[n] as number, delta: deltas[n] as number, n });
  const checked = out.buffer.subarray(start + CHECKED_FROM, out.at);
  out.buffer.writeUInt32BE(crc32c(Writer.create().append(checked).dynamicBuffer), start + CHECKED_FROM - 4);
  out.byte(0); // no tags
}

type Head = {
  readonly records: readonly WireRecord[];
  readonly length: number;
  readonly first: bigint;
  readonly deltas: readonly number[];
};

function writeHead(out: WireWriter, { records, length, first, deltas }: Head): void {
  let latest = 0;
  for (const delta of deltas) latest = Math.max(latest, delta);
  out.int64(0n); // first offset: the broker's to say
  out.int32(length - COUNTED_FROM);
  out.int32(0); // epoch of the leader
  out.byte(2); // format
  out.int32(0); // checksum: written when all behind it is
  out.int16(0); // attributes: not compressed, the producer's timestamps
  out.int32(records.length - 1);
  out.int64(first);
  out.int64(first + BigInt(latest));
  out.int64(-1n); // no producer id, and so no epoch and no sequence
  out.int16(0);
  out.int32(0);
  out.int32(records.length);
}

/** Of a record behind its own length. */
function recordBytes({ key, value, headers }: WireRecord, delta: number, n: number): number {
  const numbers = 1 + signedBytes(delta) + signedBytes(n);
  return numbers + sizedBytes(key) + sizedBytes(value) + headersBytes(headers);
}

function writeRecord(
  out: WireWriter,
  { key, value, headers }: WireRecord,
  { bytes, delta, n }: { bytes: number; delta: number; n: number },
): void {
  out.signed(bytes);
  out.byte(0); // attributes: none are defined
  out.signed(delta);
  out.signed(n);
  out.sized(key);
  out.sized(value);
  writeHeaders(out, headers);
}
