/**
 * Patch of kafkajs 2.2.4 of how it reads records, applied when client-patches.ts is imported. Whoever may write to a topic chooses how many
 * headers a record has, how many records a batch, and how they are packed:
 *
 * - It copies the headers of a record once for each of them: 20,000, in a record of 100 KB, stopped control for minutes.
 * - It hands over the records of a batch as arguments of a call, of which V8 takes some 120,000: more end the consumer by a RangeError,
 *   in each process again. A megabyte has nearly as many that have no key and no value.
 * - What it cannot unpack it asks for without end, and reads nothing of what the broker gives with it. Brokers do not check the checksum
 *   of LZ4 that is behind the records, and take snappy whose header comes twice; a topic with compression.type=uncompressed has neither.
 *
 * Here a record is read when it is asked for, and a batch that cannot be unpacked is one record, with what was packed as its value. Keys
 * and values are copies: what is kept of one does not keep the whole answer of the broker.
 */

import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { MAX_HEADERS } from '../../core/record-headers.ts';

type Decoder = {
  readonly buffer: Buffer;
  readonly offset: number;
  canReadBytes(length: number): boolean;
  readInt32(): number;
  readBytes(length: number): Buffer;
};
type Codec = { decompress(packed: Buffer): Promise<Buffer> };
type DecodeMessages = (decoder: Decoder) => Promise<readonly unknown[]>;

const require = createRequire(import.meta.url);
const FILE = require.resolve('kafkajs/src/protocol/requests/fetch/v4/decodeMessages.js');
const { lookupCodecByAttributes: codecOf } = require('kafkajs/src/protocol/message/compression') as {
  lookupCodecByAttributes(attributes: number): Codec | null;
};
const decodeOlder = require(FILE) as DecodeMessages;

/** Where a batch has its fields (Kafka protocol, "Record Batch"). */
const AT = {
  length: 8,
  magic: 16,
  attributes: 21,
  lastOffsetDelta: 23,
  firstTimestamp: 27,
  maxTimestamp: 35,
  producerId: 43,
  count: 57,
  records: 61,
};
const MAGIC = 2;
const HAS_APPEND_TIME = 0x08;
const IS_TRANSACTIONAL = 0x10;
const IS_CONTROL = 0x20;

/** What all records of a batch share. */
class FetchedBatch {
  readonly bytes: Buffer;
  readonly firstOffset: bigint;
  readonly attributes: number;
  readonly lastOffsetDelta: number;
  readonly producerId: string;
  readonly inTransaction: boolean;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
    this.firstOffset = bytes.readBigInt64BE();
    this.attributes = bytes.readInt16BE(AT.attributes);
    this.lastOffsetDelta = bytes.readInt32BE(AT.lastOffsetDelta);
    this.producerId = String(bytes.readBigInt64BE(AT.producerId));
    this.inTransaction = (this.attributes & IS_TRANSACTIONAL) > 0;
  }

  timestampOf(delta: number): string {
    const hasAppendTime = (this.attributes & HAS_APPEND_TIME) > 0;
    if (hasAppendTime) return String(this.bytes.readBigInt64BE(AT.maxTimestamp));
    return String(this.bytes.readBigInt64BE(AT.firstTimestamp) + BigInt(delta));
  }

  offsetOf(delta: number): string {
    return String(this.firstOffset + BigInt(delta));
  }

  /** What it gives can be read. @throws where they are not as the batch says */
  async records(): Promise<FetchedRecord[]> {
    const count = this.bytes.readInt32BE(AT.count);
    // Compaction may leave a batch without records, and then nothing is packed either.
    if (count <= 0) return [];
    const packed = this.bytes.subarray(AT.records);
    const codec = codecOf(this.attributes);
    const reader = new RecordReader(codec ? await codec.decompress(packed) : packed);
    const records: FetchedRecord[] = [];
    for (let left = count; left > 0; left--) {
      const end = reader.varint() + reader.at;
      const start = reader.at;
      reader.skip(1);
      reader.varint();
      const delta = reader.varint();
      records.push(new FetchedRecord(this, reader.bytes, start, this.offsetOf(delta)));
      reader.skipFields();
      // Of what is packed, brokers do not compare the two: one that is read otherwise here has whatever its writer likes.
      if (reader.at !== end || delta < 0 || delta > this.lastOffsetDelta)
        throw new RangeError('a record ends elsewhere, or is of another place');
    }
    return records;
  }
}

/** As kafkajs' own readers of batches take it. */
class FetchedRecord {
  readonly offset: string;
  readonly batchContext: FetchedBatch;
  readonly #bytes: Buffer;
  readonly #start: number;

  constructor(batch: FetchedBatch, bytes: Buffer, start: number, offset: string) {
    this.batchContext = batch;
    this.offset = offset;
    this.#bytes = bytes;
    this.#start = start;
  }

  get isControlRecord(): boolean {
    return (this.batchContext.attributes & IS_CONTROL) > 0;
  }

  get timestamp(): string {
    const reader = new RecordReader(this.#bytes, this.#start + 1);
    return this.batchContext.timestampOf(reader.varint());
  }

  get key(): Buffer | null {
    return this.#behindOffset().copy();
  }

  get value(): Buffer | null {
    const reader = this.#behindOffset();
    reader.skipSized();
    return reader.copy();
  }

  get headers(): Record<string, Buffer> {
    const reader = this.#behindOffset();
    reader.skipSized();
    reader.skipSized();
    const headers: [string, Buffer][] = [];
    for (let left = Math.min(reader.varint(), MAX_HEADERS); left > 0; left--) {
      const name = String(reader.copy());
      const value = reader.copy();
      if (value !== null) headers.push([name, value]);
    }
    return Object.fromEntries(headers);
  }

  #behindOffset(): RecordReader {
    const reader = new RecordReader(this.#bytes, this.#start + 1);
    reader.varint();
    reader.varint();
    return reader;
  }
}

/** A batch that cannot be unpacked, in the place of its last record. */
const packedRecord = (batch: FetchedBatch) => ({
  offset: batch.offsetOf(batch.lastOffsetDelta),
  timestamp: batch.timestampOf(0),
  batchContext: batch,
  key: null,
  value: Buffer.copyBytesFrom(batch.bytes, AT.records),
  headers: {},
  isControlRecord: false,
});

class RecordReader {
  readonly bytes: Buffer;
  at: number;

  constructor(bytes: Buffer, at = 0) {
    this.bytes = bytes;
    this.at = at;
  }

  /** Of 64 bits at most; a number holds offsets and times exactly. */
  varint(): number {
    let value = 0;
    for (let factor = 1; factor < 2 ** 64; factor *= 0x80) {
      const byte = this.bytes[this.at++];
      if (byte === undefined) break;
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
    }
    throw new RangeError('the records end before their time, or a number is larger than they have');
  }

  skip(length: number): void {
    this.at += length;
    if (this.at > this.bytes.length) throw new RangeError('the records end before their time');
  }

  /** Key, value and headers. */
  skipFields(): void {
    this.skipSized();
    this.skipSized();
    for (let left = this.varint() * 2; left > 0; left--) this.skipSized();
  }

  skipSized(): void {
    this.skip(Math.max(0, this.varint()));
  }

  copy(): Buffer | null {
    const length = this.varint();
    if (length < 0) return null;
    const start = this.at;
    this.skip(length);
    return Buffer.copyBytesFrom(this.bytes, start, length);
  }
}

const decodeMessages: DecodeMessages = async (decoder) => {
  const { buffer, offset } = decoder;
  const magicAt = offset + 4 + AT.magic;
  if (buffer[magicAt] !== MAGIC) return decodeOlder(decoder);
  const size = decoder.readInt32();
  if (size <= 0 || !decoder.canReadBytes(size)) return [];
  const bytes = decoder.readBytes(size);
  const all: unknown[] = [];
  for (let at = 0; at + AT.records <= bytes.length; ) {
    const end = at + AT.length + 4 + bytes.readInt32BE(at + AT.length);
    // An answer may end within a batch.
    if (end > bytes.length || end < at + AT.records) break;
    const batch = new FetchedBatch(bytes.subarray(at, end));
    for (const record of await recordsOf(batch)) all.push(record);
    at = end;
  }
  return all;
};

async function recordsOf(batch: FetchedBatch): Promise<readonly unknown[]> {
  try {
    return await batch.records();
  } catch (error) {
    // A codec that kafkajs has not is a fault of this program.
    if ((error as Error).name === 'KafkaJSNotImplemented') throw error;
    return [packedRecord(batch)];
  }
}

// Whoever reads answers takes it from there, with the first of them. What has taken kafkajs' own is made anew.
(require.cache[FILE] as { exports: unknown }).exports = decodeMessages;
const VERSIONS = dirname(dirname(FILE));
for (const file of Object.keys(require.cache))
  if (file.startsWith(VERSIONS) && file.endsWith('response.js')) delete require.cache[file];
