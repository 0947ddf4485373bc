import { refOfEvent } from '../../cli/inspect/describe-record.ts';
import type { IncomingRecord } from '../../core/record.ts';
import { DEAD_LETTER_HEADERS as NAMES } from '../../delivery/dead-letter/dead-letter-headers.ts';

/** Which records of a topic are shown: all conditions that are given must hold. */
export type EventFilter = {
  /** The record's key, which is the entity of an event. */
  readonly key?: string | undefined;
  /** The event's type, as it was received. */
  readonly type?: string | undefined;
  readonly ref?: string | undefined;
  /** The event id. */
  readonly id?: string | undefined;
};

export const FILTERS = ['key', 'type', 'ref', 'id'] as const;

/** By key and headers alone: a value may be as large as the topic takes. */
export function matches({ key, headers }: IncomingRecord, filter: EventFilter): boolean {
  const refOf = headers[NAMES.ref] ?? refOfEvent(headers);
  return (
    (filter.key === undefined || key?.toString() === filter.key || headers.ce_subject === filter.key) &&
    (filter.type === undefined || headers.ce_type === filter.type) &&
    (filter.ref === undefined || refOf === filter.ref) &&
    (filter.id === undefined || (headers[NAMES.eventId] ?? headers.ce_id) === filter.id)
  );
}

/** Conditions of an address's query; empty ones are none. */
export const filterOf = (query: Readonly<Record<string, string | undefined>>): EventFilter =>
  Object.fromEntries(FILTERS.flatMap((name) => (query[name] ? [[name, query[name]]] : [])));
