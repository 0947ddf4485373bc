import type { Type } from 'avsc';
// Copy this file too: it needs avsc alone.
import { boundedDecoder } from '../../../src/avro/bounded-decode.ts';
import type { PaymentEvent } from './book.ts';
import type { Reference } from './fetch-message.ts';

type Decode = ReturnType<typeof boundedDecoder>;

/**
 * Reads events by the schema that they were written with, fetched once; the fields of a later version are there as well.
 * Gives null for a value that is no event. A registry or an object store that does not answer, or an object that is missing or
 * changed, rejects: kafkajs then tries the event again, and a ledger books nothing else of its partition meanwhile.
 * @param fetchMessage of events whose records refer to their message
 */
export function createEventReader(
  schemaOf: (id: number) => Promise<unknown>,
  fetchMessage: (reference: Reference) => Promise<string>,
): (value: Buffer) => Promise<PaymentEvent | null> {
  const decoders = new Map<number, Decode>();
  return async (value) => {
    if (value.length < 6 || value[0] !== 0) return null;
    const id = value.readInt32BE(1);
    // Outside the try below: an unavailable registry says nothing about the event.
    const schema = decoders.has(id) ? undefined : await schemaOf(id);
    let event: Record<string, unknown>;
    try {
      // Throws for a schema that is not Avro, such as Protobuf: that must not end the consumer.
      const decode = decoders.get(id) ?? boundedDecoder(schema as Type);
      decoders.set(id, decode);
      event = decode(value.subarray(5));
    } catch {
      return null;
    }
    const reference = (event.sourceRef ?? null) as Reference | null;
    const source = reference ? await fetchMessage(reference) : event.source;
    return paymentIn(event, source, reference?.omitted ?? []);
  };
}

function paymentIn(
  { eventId, entityId, status }: Record<string, unknown>,
  source: unknown,
  omitted: readonly string[],
): PaymentEvent | null {
  if (typeof eventId !== 'string' || typeof entityId !== 'string' || typeof source !== 'string') return null;
  // Null in the record because it did not fit: the message has it.
  const found: unknown = omitted.includes('status') ? JSON.parse(source).payload.status : status;
  return typeof found === 'string' || found === null ? { eventId, entityId, status: found, source } : null;
}
