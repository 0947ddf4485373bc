import type { Type } from 'avsc';
// Copy this file too: it needs avsc alone.
import { boundedDecoder } from '../../../src/avro/bounded-decode.ts';

type Decode = ReturnType<typeof boundedDecoder>;

/** The fields of an event by their names; null for a value that is no event. */
export type EventDecoder = (value: Buffer) => Promise<Record<string, unknown> | null>;

/**
 * Decodes events by the schema that they were written with, fetched once; the fields of a later version are there as well.
 * A registry that does not answer rejects: kafkajs then tries the event again.
 */
export function createEventDecoder(schemaOf: (id: number) => Promise<unknown>): EventDecoder {
  const decoders = new Map<number, Decode>();
  return async (value) => {
    if (value.length < 6 || value[0] !== 0) return null;
    const id = value.readInt32BE(1);
    // Outside the try below: an unavailable registry says nothing about the event.
    const schema = decoders.has(id) ? undefined : await schemaOf(id);
    try {
      // Throws for a schema that is not Avro, such as Protobuf: that must not end the consumer.
      const decode = decoders.get(id) ?? boundedDecoder(schema as Type);
      decoders.set(id, decode);
      return decode(value.subarray(5));
    } catch {
      return null;
    }
  };
}
