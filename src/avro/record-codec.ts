import avro, { type Type } from 'avsc';
import { HooklineError } from '../core/errors.ts';
import { parseBoundedJson } from '../core/json.ts';
import type { AvroSchema } from './avro-schema.ts';
import { boundedDecoder, type DecodeLimits } from './bounded-decode.ts';

/** Avro binary of one record type, with and without the wire format's header. */
export type RecordCodec = {
  /** The schema as it is registered: the file's own JSON. */
  readonly schema: string;
  /**
   * A record's value in the wire format, in one buffer. `sizeHint` is the expected size in bytes: where it is too
   * small the record is written twice. Throws where a value doesn't fit its field.
   */
  encode(record: object, schemaId: number, sizeHint: number): Buffer;
  /** The record in Avro binary without a header. Throws Undecodable where the binary doesn't fit the schema. */
  decode(binary: Buffer): AvroRecord;
  /** Reads what was written with another version of the schema. Throws where the two can't be reconciled. */
  resolve(writer: Type): (binary: Buffer) => AvroRecord;
};

export type AvroRecord = Record<string, unknown>;

/**
 * Compiles an Avro schema. Unions are `["null", T]` only, so that a value stands for itself; timestamps are
 * milliseconds as numbers.
 * @param limits of the records that are read
 * @throws Error in avsc's words where the schema is none
 */
export function compileCodec(schema: unknown, limits?: DecodeLimits): RecordCodec {
  const type = avro.Type.forSchema(schema as avro.Schema, { wrapUnions: 'never', omitRecordMethods: true });
  return {
    schema: JSON.stringify(schema),
    encode(record, schemaId, sizeHint) {
      let buffer = Buffer.allocUnsafe(HEADER_LENGTH + sizeHint);
      let end = type.encode(record, buffer, HEADER_LENGTH);
      if (end < 0) {
        buffer = Buffer.allocUnsafe(buffer.length - end);
        end = type.encode(record, buffer, HEADER_LENGTH);
      }
      writeHeader(buffer, schemaId);
      return buffer.subarray(0, end);
    },
    decode: boundedDecoder(type, type, limits),
    resolve: (writer) => boundedDecoder(writer, type, limits),
  };
}

/**
 * Reads an Avro schema of any type. Unlike a codec it may have unions of any kind.
 * @throws Error naming what is wrong, in avsc's words where it is JSON
 */
export function parseSchemaFile(text: string): AvroSchema {
  const schema: unknown = JSON.parse(text);
  if (schema === null || (typeof schema !== 'string' && typeof schema !== 'object'))
    throw new Error(`${JSON.stringify(schema)} is no Avro schema`);
  avro.Type.forSchema(schema as avro.Schema);
  return schema as AvroSchema;
}

/** The Confluent wire format: a zero byte, the schema's id as four bytes, the Avro binary. */
export const HEADER_LENGTH = 5;

export function writeHeader(into: Buffer, schemaId: number): void {
  into[0] = 0;
  into.writeInt32BE(schemaId, 1);
}

/** The schema id of a record's value, or null where it isn't in the wire format (checked: shorter ones throw, C13). */
export function schemaIdOf(value: Buffer): number | null {
  return value.length > HEADER_LENGTH && value[0] === 0 ? value.readInt32BE(1) : null;
}

/** A schema as a registry has it. */
export type FoundSchema = {
  readonly schema: string;
  readonly schemaType?: string;
  readonly references?: readonly SchemaReference[];
};

type SchemaReference = { readonly name: string; readonly subject: string; readonly version: number };

/** Characters of a schema and of all that it refers to: anyone who may register schemas can write them. */
const MAX_TEXT = 1024 * 1024;
const MAX_REFERENCES = 100;
/** avsc calls itself for each level, and generates code for each field. */
const SCHEMA_JSON = { maxValues: 20_000, maxDepth: 200 };

/**
 * Compiles a writer's schema with the schemas that it refers to.
 * @param fetch asks the registry for a reference
 * @throws HooklineError SCHEMA_INVALID where it is no Avro, too large, or can't be compiled
 */
export async function writerTypeOf(
  found: FoundSchema,
  fetch: (reference: SchemaReference) => Promise<FoundSchema>,
): Promise<Type> {
  const texts: string[] = [];
  const seen = new Set<string>();
  let characters = 0;
  const collect = async ({ schema, schemaType = 'AVRO', references = [] }: FoundSchema): Promise<void> => {
    if (schemaType !== 'AVRO') throw invalid(`it is ${schemaType}`);
    characters += schema.length;
    if (characters > MAX_TEXT) throw invalid(`it has more than ${MAX_TEXT} characters`);
    for (const reference of references) {
      const key = JSON.stringify([reference.subject, reference.version]);
      if (seen.has(key)) continue;
      if (seen.add(key).size > MAX_REFERENCES)
        throw invalid(`it refers to more than ${MAX_REFERENCES} others`);
      await collect(await fetch(reference));
    }
    // Behind what it refers to: a name is known before it is used.
    texts.push(schema);
  };
  await collect(found);
  try {
    return compile(texts);
  } catch (error) {
    throw invalid((error as Error).message, error);
  }
}

function compile(texts: readonly string[]): Type {
  const registry = {};
  const types = texts.map((text) => {
    const schema = withoutDefaults(parseBoundedJson(text, SCHEMA_JSON)) as avro.Schema;
    return avro.Type.forSchema(schema, { wrapUnions: 'never', omitRecordMethods: true, registry });
  });
  return types.at(-1) as Type;
}

/**
 * Only a reader's defaults count. avsc works a writer's out all the same: thirty records, each with two fields of the
 * next one that default to `{}`, would take it for ever.
 */
function withoutDefaults(schema: unknown): unknown {
  if (typeof schema !== 'object' || schema === null) return schema;
  if (Array.isArray(schema)) return schema.map(withoutDefaults);
  const members = Object.entries(schema).filter(([name]) => name !== 'default');
  return Object.fromEntries(members.map(([name, value]) => [name, withoutDefaults(value)]));
}

const invalid = (why: string, cause?: unknown) => new HooklineError('SCHEMA_INVALID', why, { cause });
