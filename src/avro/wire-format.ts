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
