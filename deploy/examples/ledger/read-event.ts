import type { PaymentEvent } from './book.ts';
import { createEventDecoder } from './decode-event.ts';
import type { Reference } from './fetch-message.ts';

/**
 * Reads events with their messages. Gives null for a value that is no event. A registry or an object store that does not
 * answer, or an object that is missing or changed, rejects: kafkajs then tries the event again, and a ledger books nothing
 * else of its partition meanwhile.
 * @param fetchMessage of events whose records refer to their message
 */
export function createEventReader(
  schemaOf: (id: number) => Promise<unknown>,
  fetchMessage: (reference: Reference) => Promise<string>,
): (value: Buffer) => Promise<PaymentEvent | null> {
  const decode = createEventDecoder(schemaOf);
  return async (value) => {
    const event = await decode(value);
    if (event === null) return null;
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
  if (typeof eventId !== 'string' || typeof entityId !== 'string') return null;
  // Null where the policy of the type is "omit": then the typed fields have all that there is.
  if (typeof source !== 'string' && source !== null) return null;
  // Null in the record because it did not fit: the message has it.
  const found: unknown =
    source !== null && omitted.includes('status') ? JSON.parse(source).payload.status : status;
  return typeof found === 'string' || found === null ? { eventId, entityId, status: found, source } : null;
}
