import { WireReader } from './wire.ts';

/** A record as a consumer would read it. */
export type BatchRecord = {
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: readonly (readonly [string, Buffer])[];
};

const HEAD_BYTES = 61;
const COUNT_AT = 57;
const MAGIC_AT = 16;
const LENGTH_AT = 8;
const ATTRIBUTES_AT = 21;

/** How many records a batch has. @throws RangeError where it is none of format 2, whole and not compressed */
export function recordCount(batch: Buffer): number {
  const isWhole = batch.length >= HEAD_BYTES && batch.readInt32BE(LENGTH_AT) === batch.length - 12;
  if (!isWhole || batch[MAGIC_AT] !== 2) throw new RangeError('not one whole batch of format 2');
  if ((batch.readInt16BE(ATTRIBUTES_AT) & 7) !== 0)
    throw new RangeError('the model reads no compressed batch');
  return batch.readInt32BE(COUNT_AT);
}

/** The records of a batch (Kafka protocol, "Record Batch"), read without the code that wrote it. */
export function readBatch(batch: Buffer): BatchRecord[] {
  const reader = new WireReader(batch);
  reader.take(HEAD_BYTES);
  return Array.from({ length: recordCount(batch) }, () => readRecord(reader));
}

function readRecord(reader: WireReader): BatchRecord {
  const sized = () => {
    const length = reader.signed();
    return length < 0 ? null : reader.take(length);
  };
  reader.signed(); // its length
  reader.int8(); // attributes
  reader.signed(); // timestamp
  reader.signed(); // offset
  const key = sized();
  const value = sized();
  const headers = Array.from({ length: reader.signed() }, () => {
    const name = sized() ?? Buffer.alloc(0);
    return [name.toString(), sized() ?? Buffer.alloc(0)] as const;
  });
  return { key, value, headers };
}

/** What a batch holds, for a story: the start of each message. */
export const namesOf = (batch: Buffer): string =>
  readBatch(batch)
    .map(({ key, value }) => `${key} ${/"n":\d+/.exec(`${value}`)?.[0] ?? ''}`)
    .join(', ');
