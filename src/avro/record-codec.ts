import avro, { type Type } from 'avsc';
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
