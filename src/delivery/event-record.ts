import type { OpenedMessage } from '../core/delivery.ts';
import type { OutgoingRecord } from '../kafka/publisher.ts';
import type { EventRoute } from './event-routes.ts';

/** What of an event stands outside its value: the record's key and its CloudEvents headers. */
export type EventFacts = {
  readonly eventId: string;
  readonly type: string | null;
  readonly entityId: string | null;
};

/** The record of an event whose value is encoded, keyed by the entity. */
export function eventRecord(
  { ref, receivedAt, traceparent }: Pick<OpenedMessage, 'ref' | 'receivedAt' | 'traceparent'>,
  route: EventRoute,
  { eventId, type, entityId: entity }: EventFacts,
  value: Buffer,
): OutgoingRecord {
  // Without an entity there is no order to keep: the event's own id spreads such events.
  const entityId = entity ? Buffer.from(entity) : null;
  return {
    topic: route.topic,
    key: entityId ?? Buffer.from(eventId, 'latin1'),
    value,
    headers: route.headers({
      eventId,
      ref,
      type: type ?? route.schema.topic,
      entityId,
      receivedAt,
      traceparent,
    }),
  };
}
