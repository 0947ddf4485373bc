import type { ReadMessage } from '../core/delivery.ts';
import { HooklineError } from '../core/errors.ts';
import type { OutgoingRecord } from '../kafka/publisher.ts';
import type { DeliveryParts } from './delivery-parts.ts';
import { eventRecord } from './event-record.ts';
import type { EventRoute } from './event-routes.ts';

/**
 * The record of a message: Avro in the wire format, keyed by the entity, with CloudEvents headers.
 * @throws HooklineError UNENCODABLE
 */
export function encodeEvent(
  message: ReadMessage,
  parts: Pick<DeliveryParts, 'routes' | 'observer'>,
): OutgoingRecord {
  const { eventId, json, text, receivedAt, ref } = message;
  const route = parts.routes.of(typeOf(json));
  if (!route.classified) parts.observer.unclassified();
  const record = route.schema.mapping(json, (field) => parts.observer.drift(route.topic, field));
  record.eventId = eventId;
  record.subscription = ref;
  record.receivedAt = receivedAt;
  record.source = text;
  const { type, entityId } = record as { type: string | null; entityId: string | null };
  return eventRecord(message, route, { eventId, type, entityId }, encode(route, record, text.length));
}

function typeOf(json: unknown): unknown {
  return typeof json === 'object' && json !== null && 'type' in json ? json.type : undefined;
}

/** The typed part is mostly smaller than its JSON, which goes along as `source`. */
function encode(route: EventRoute, record: object, sourceLength: number): Buffer {
  try {
    return route.schema.codec.encode(record, route.schemaId, 2 * sourceLength + 256);
  } catch (error) {
    throw new HooklineError('UNENCODABLE', undefined, { cause: error, topic: route.topic });
  }
}
