import type { EventDecoder } from '../ledger/decode-event.ts';
import type { Reference } from '../ledger/fetch-message.ts';
import { timeOf } from '../ledger/read-event.ts';

/** An event of payment-status (schemas/events/payment-status.avsc), as far as the table needs it. */
export type StatusEvent = {
  /** A UUID. */
  readonly eventId: string;
  readonly entityId: string | null;
  /** The subscription that received it. */
  readonly ref: string;
  /** Milliseconds since 1970. */
  readonly receivedAt: number;
  /** When the provider made the report (`CreDtTm`), in milliseconds since 1970; null where it does not say so. */
  readonly createdAt: number | null;
  readonly status: string | null;
  /** The entries of `TxInfAndSts`, as Avro or JSON has them. */
  readonly transactions: readonly unknown[];
};

/** The fields that a message can be needed for: how `sourceRef.omitted` names them, and where the message has them. */
const FIELDS = {
  status: ['status'],
  createdAt: ['pacs002', 'FIToFIPmtStsRpt', 'GrpHdr', 'CreDtTm'],
  transactions: ['pacs002', 'FIToFIPmtStsRpt', 'TxInfAndSts'],
} as const;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/**
 * Reads events. The message is fetched only where a field that the table needs did not fit the record. Gives null for a value
 * that is no event. A registry or an object store that does not answer, or an object that is missing or changed, rejects.
 */
export function createStatusReader(
  decode: EventDecoder,
  fetchMessage: (reference: Reference) => Promise<string>,
): (value: Buffer) => Promise<StatusEvent | null> {
  return async (value) => {
    const event = await decode(value);
    if (event === null) return null;
    const { eventId, entityId = null, subscription, receivedAt } = event;
    const isEvent =
      typeof eventId === 'string' &&
      UUID.test(eventId) &&
      typeof subscription === 'string' &&
      isTime(receivedAt);
    if (!isEvent) return null;
    const reference = (event.sourceRef ?? null) as Reference | null;
    const isOmitted = (path: readonly string[]) =>
      (reference?.omitted ?? []).some(
        (one) => path.join('.') === one || path.join('.').startsWith(`${one}.`),
      );
    const payload =
      reference && Object.values(FIELDS).some(isOmitted)
        ? (JSON.parse(await fetchMessage(reference)) as { payload?: unknown }).payload
        : undefined;
    const fieldOf = (path: readonly string[]) => valueAt(isOmitted(path) ? payload : event, path);
    const transactions = fieldOf(FIELDS.transactions);
    return {
      eventId,
      entityId: textOf(entityId),
      ref: subscription,
      receivedAt: Number(receivedAt),
      createdAt: timeOf(fieldOf(FIELDS.createdAt)),
      status: textOf(fieldOf(FIELDS.status)),
      // Anything else is drift: the typed field is null then.
      transactions: Array.isArray(transactions) ? transactions : [],
    };
  };
}

/** avsc gives a timestamp as its number, unless it is told otherwise. */
const isTime = (value: unknown) => Number.isSafeInteger(value) || value instanceof Date;

export const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null);

/** What stands inside records or objects; undefined where there is nothing. */
export const valueAt = (value: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>(
    (inner, name) =>
      typeof inner === 'object' && inner !== null ? (inner as Record<string, unknown>)[name] : undefined,
    value,
  );
