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
    return paymentIn(event, source);
  };
}

/** A typed field is null where the message has none, or where it did not fit the record: then the message counts. */
function paymentIn(
  { eventId, entityId, subscription, receivedAt, status, pacs002 }: Record<string, unknown>,
  source: unknown,
): PaymentEvent | null {
  if (typeof eventId !== 'string') return null;
  // Null where the policy of the type is "omit": then the typed fields have all that there is.
  if (typeof source !== 'string' && source !== null) return null;
  const createdAt = createdAtIn(pacs002);
  const isWhole = textOf(status) !== null && createdAt !== null;
  const payload = source === null || isWhole ? undefined : parseExactly(source)?.payload;
  return {
    eventId,
    // An event that names no entity is one of its own, as the key of its record says.
    entityId: textOf(entityId) || eventId,
    subscription: textOf(subscription),
    statedAt: createdAt ?? createdAtIn(payload?.pacs002) ?? Number(receivedAt),
    status: textOf(status) ?? textOf(payload?.status) ?? numberIn(payload?.status),
    source,
  };
}

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null);
/** Of a message that was not parsed exactly. */
const numberIn = (value: unknown): string | null => (typeof value === 'number' ? String(value) : null);

/** Of the standard (ECMAScript's JSON.parse source text access, Node 21), not yet in the types of ES2024. */
type Reviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown;

/** With a function for each value a megabyte of digits takes a second: 50 MB would outlast the consumer's session, again and again. */
const MAX_EXACT = 1_000_000;

/** JSON whose numbers are their own text: JSON.parse rounds large ones, and 1.50 would become 1.5. */
function parseExactly(text: string) {
  const keepNumbers: Reviver = (_, value, { source }) => (typeof value === 'number' ? source : value);
  try {
    if (text.length <= MAX_EXACT)
      return JSON.parse(text, keepNumbers as (key: string, value: unknown) => unknown);
  } catch (error) {
    // It calls itself for each level: some thousand of them overflow the stack, and kafkajs ends for good at a RangeError.
    if (!(error instanceof RangeError)) throw error;
  }
  // Takes any depth, and a second for 50 MB of numbers; of nothing but brackets some 10 s, and a heap of 2 GB.
  return JSON.parse(text);
}

/** When the provider made a report, as its group header says: milliseconds since 1970. */
function createdAtIn(pacs002: unknown): number | null {
  const { FIToFIPmtStsRpt } = Object(pacs002);
  return timeOf(FIToFIPmtStsRpt?.GrpHdr?.CreDtTm);
}

/** A time of ISO 20022, in milliseconds since 1970; UTC where it has no offset. Null for anything else. */
export function timeOf(value: unknown): number | null {
  const [text, offset] = /^\d{4}-\d\d-\d\dT.*?(Z|[+-]\d\d:\d\d)?$/.exec(textOf(value) ?? '') ?? [];
  const time = Date.parse(offset ? `${text}` : `${text}Z`);
  return Number.isNaN(time) ? null : time;
}
