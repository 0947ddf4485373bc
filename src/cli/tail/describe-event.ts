import { isRegistryUnavailable, type RecordReader } from '../../avro/record-reader.ts';
import { isoOf } from '../../core/instant.ts';
import type { IncomingRecord } from '../../core/record.ts';
import type { Mask } from '../shell/mask.ts';
import { readableBody } from '../shell/print-rows.ts';
import { describeError } from '../shell/shell.ts';

/** A record as it is shown. */
export type Described = {
  readonly topic: string;
  readonly partition: number;
  readonly offset: bigint;
  /** When it was written, as ISO 8601. */
  readonly time: string;
  readonly key: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly value: unknown;
};

/** Decodes a value; false where it is not in the form that its topic's schema has. */
export type Decoded = {
  readonly value: unknown;
  readonly isDecoded: boolean;
  /** Why nobody can tell its form now: what the registry's failure is, and what to do about it. */
  readonly schemaFault?: string;
};

/** Avro, or else JSON, text or base64: dead-letter records contain whatever arrived. */
export async function decodeValue(value: Buffer | null, read: RecordReader): Promise<Decoded> {
  if (value === null) return { value, isDecoded: true };
  try {
    return { value: await read(value), isDecoded: true };
  } catch (error) {
    return { value: readableBody(value), isDecoded: false, ...schemaFaultOf(error) };
  }
}

/** Of a record whose schema could not be fetched: it can be a good one. */
export const schemaFaultOf = (error: unknown): Pick<Decoded, 'schemaFault'> =>
  isRegistryUnavailable(error) ? { schemaFault: describeError(error) } : {};

/** The record with what is sensitive in it masked. Key and headers name the entity, too. */
export function describeEvent(
  record: IncomingRecord,
  { value, isDecoded, schemaFault }: Decoded,
  mask: Mask,
): Described {
  const { topic, partition, offset, key, headers, timestamp } = record;
  const { ce_subject: subject } = headers;
  return {
    topic,
    partition,
    offset,
    time: isoOf(timestamp),
    key: key && mask.entity(topic, key.toString()),
    headers: subject === undefined ? headers : { ...headers, ce_subject: mask.entity(topic, subject) },
    value: mask.value(topic, value, isDecoded, schemaFault),
  };
}
