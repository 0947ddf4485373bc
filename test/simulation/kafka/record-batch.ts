import { WireReader } from './wire.ts';

/** A record as a consumer would read it. */
export type BatchRecord = {
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  /** As they are in the batch; see {@link headerOf}. */
  readonly headers: Buffer;
  /** Milliseconds since 1970. */
  readonly timestamp: number;
};

const HEAD_BYTES = 61;
const COUNT_AT = 57;
const MAGIC_AT = 16;
const LENGTH_AT = 8;
const ATTRIBUTES_AT = 21;
const FIRST_TIMESTAMP_AT = 27;

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
  reader.skip(HEAD_BYTES);
  const records: BatchRecord[] = [];
  const count = recordCount(batch);
  const first = Number(batch.readBigInt64BE(FIRST_TIMESTAMP_AT));
  for (let left = count; left > 0; left--) records.push(readRecord(reader, first));
  return records;
}

function readRecord(reader: WireReader, firstTimestamp: number): BatchRecord {
  const end = reader.signed() + reader.at;
  reader.skip(1); // attributes
  const timestamp = firstTimestamp + reader.signed();
  reader.signed(); // offset
  const key = sized(reader);
  const value = sized(reader);
  return { key, value, headers: reader.take(end - reader.at), timestamp };
}

function sized(reader: WireReader): Buffer | null {
  const length = reader.signed();
  return length < 0 ? null : reader.take(length);
}

/**
 * The first header of this name; undefined where there is none.
 * @throws RangeError where the headers are not as many, and as long, as they say: no consumer could read them
 */
export function headerOf({ headers }: BatchRecord, name: string): Buffer | undefined {
  const reader = new WireReader(headers);
  let found: Buffer | undefined;
  for (let left = reader.signed(); left > 0; left--) {
    const nameLength = reader.signed();
    const isIt =
      nameLength === name.length && headers.toString('latin1', reader.at, reader.at + nameLength) === name;
    if (nameLength < 0) throw new RangeError('a header without a name');
    reader.skip(nameLength);
    const length = Math.max(0, reader.signed());
    if (isIt && found === undefined) found = reader.take(length);
    else reader.skip(length);
  }
  if (reader.at !== headers.length) throw new RangeError('bytes behind the headers');
  return found;
}

/** All headers as texts; of a name that comes twice, the first. @throws RangeError as {@link headerOf} */
export function headersIn({ headers }: BatchRecord): ReadonlyMap<string, string> {
  const reader = new WireReader(headers);
  const texts = new Map<string, string>();
  for (let left = reader.signed(); left > 0; left--) {
    const name = textOf(reader);
    const text = textOf(reader);
    if (!texts.has(name)) texts.set(name, text);
  }
  if (reader.at !== headers.length) throw new RangeError('bytes behind the headers');
  return texts;
}

/** As UTF-8. */
function textOf(reader: WireReader): string {
  const length = Math.max(0, reader.signed());
  return reader.text(length, 'utf8');
}

/** What a batch holds, for a story: the start of each message. */
export const namesOf = (batch: Buffer): string =>
  readBatch(batch)
    .map(({ key, value }) => `${key} ${/"n":\d+/.exec(`${value}`)?.[0] ?? ''}`)
    .join(', ');
