import { leadingFieldsOf, type RecordReader } from '../../avro/record-reader.ts';
import type { Mask } from '../../cli/shell/mask.ts';
import { jsonValue } from '../../cli/shell/print-rows.ts';
import {
  type Decoded,
  type Described,
  decodeValue,
  describeEvent,
  schemaFaultOf,
} from '../../cli/tail/describe-event.ts';
import type { IncomingRecord } from '../../core/record.ts';
import { lengthOf } from '../../kafka/connect/clip-values.ts';

/** A record as a page shows it: what is typed apart from the message as it was received. */
export type ShownRecord = Omit<Described, 'value' | 'offset'> & {
  readonly offset: number;
  /** Bytes of its value in Kafka. */
  readonly bytes: number;
  /** false: the value is larger than what the console reads, and only its first fields are here. */
  readonly isWhole: boolean;
  /** The fields of an event or a record; of anything else, what it is. null of a deletion. */
  readonly fields: unknown;
  readonly source: string | null;
  /** Why its schema could not be fetched, and what to do about it; null of a record whose schema is known, or that has none. */
  readonly schemaFault: string | null;
};

/** Decodes a record as `hookline tail` does, as far as its value was read. */
export async function showRecord(
  record: IncomingRecord,
  read: RecordReader,
  mask: Mask,
): Promise<ShownRecord> {
  const { value } = record;
  const bytes = value === null ? 0 : lengthOf(value);
  const isWhole = value === null || bytes === value.length;
  const decoded = isWhole ? await decodeValue(value, read) : await decodeBeginning(value, read);
  const { value: shown, ...described } = describeEvent(record, decoded, mask);
  const { schemaFault = null } = decoded;
  return {
    ...described,
    offset: Number(record.offset),
    bytes,
    isWhole,
    schemaFault,
    ...splitSource(shown),
  };
}

/** The fields before the place where the value was cut; of a value that is no Avro, the text that was read. */
async function decodeBeginning(value: Buffer, read: RecordReader): Promise<Decoded> {
  if (value[0] !== 0) return { value: { beginning: value.toString() }, isDecoded: false };
  try {
    return { value: await read(value), isDecoded: true };
  } catch (error) {
    return { value: leadingFieldsOf(error), isDecoded: true, ...schemaFaultOf(error) };
  }
}

function splitSource(value: unknown): Pick<ShownRecord, 'fields' | 'source'> {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, 'source'))
    return { fields: value, source: null };
  const { source, ...fields } = value as { source: unknown };
  return typeof source === 'string' ? { fields, source } : { fields: value, source: null };
}

/** Fields as indented JSON, at most so many characters of it. */
export const fieldsText = (fields: unknown, most: number): string =>
  clip(JSON.stringify(fields, jsonValue, 2) ?? '', most);

/** A text, at most so many characters of it. A message is shown as it was received: to indent it would change its numbers. */
export function clip(text: string, most: number): string {
  if (text.length <= most) return text;
  return `${text.slice(0, most).toWellFormed()} … ${text.length - most} more characters`;
}
