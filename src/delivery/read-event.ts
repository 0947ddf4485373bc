import { isUtf8 } from 'node:buffer';
import type { FoundMessage } from '../avro/transcoder.ts';
import type { OpenedMessage } from '../core/delivery.ts';
import { HooklineError } from '../core/errors.ts';
import { isJson, NotJson } from '../core/json-scanner.ts';
import type { OutgoingRecord } from '../core/record.ts';
import { eventIdOf } from '../crypto/ids.ts';
import type { EventRoute, EventRoutes } from './event-routes.ts';
import type { DeliveryPorts } from './ports.ts';

/** A message that is JSON: its event has an id, and can be encoded. */
export type ReadEvent = {
  readonly message: Buffer;
  readonly eventId: string;
  /**
   * The record: Avro in the wire format, keyed by the entity, with CloudEvents headers. To be called before the next
   * message is read.
   * @throws HooklineError UNENCODABLE
   */
  readonly encode: () => OutgoingRecord;
};

/**
 * Reads a message. Its text is kept exactly: numbers beyond double precision and the order of members too.
 * @throws HooklineError UNPARSABLE: other bytes than UTF-8, a byte order mark, or no JSON
 */
export function readEvent(
  opened: OpenedMessage,
  parts: Pick<DeliveryPorts, 'routes' | 'observer' | 'memory'>,
): ReadEvent {
  const { message, subscriptionId } = opened;
  const { route, found } = parsing(message, () => findRouted(message, parts.routes));
  const eventId = eventIdOf(subscriptionId, message);
  const encode = () => {
    if (!route.classified) parts.observer.unclassified();
    return recordOf(opened, { eventId, route, found }, parts);
  };
  return { message, eventId, encode };
}

/** The id of the event that the message becomes. @throws HooklineError UNPARSABLE */
export function readEventId({ message, subscriptionId }: OpenedMessage): string {
  parsing(message, () => {
    if (!isJson(message)) throw new NotJson();
  });
  return eventIdOf(subscriptionId, message);
}

function recordOf(
  { ref, receivedAt, traceparent }: OpenedMessage,
  { eventId, route, found }: { eventId: string; route: EventRoute; found: FoundMessage },
  { observer, memory }: Pick<DeliveryPorts, 'observer' | 'memory'>,
): OutgoingRecord {
  const drift = (field: string) => observer.drift(route.topic, field);
  const type = found.type ?? route.schema.topic;
  // Without an entity there is no order to keep: the event's own id spreads such events.
  const entityId = found.entityId ? Buffer.from(found.entityId) : null;
  try {
    return {
      topic: route.topic,
      key: entityId ?? Buffer.from(eventId, 'latin1'),
      value: found.write({ eventId, subscription: ref, receivedAt }, route.schemaId, drift, memory),
      headers: route.headers({ eventId, ref, type, entityId, receivedAt, traceparent }),
    };
  } catch (error) {
    throw new HooklineError('UNENCODABLE', undefined, { cause: error, topic: route.topic });
  }
}

/** The type is in the message, mostly at its beginning; otherwise the message is walked over once more. */
function findRouted(
  message: Buffer,
  routes: EventRoutes,
): { readonly route: EventRoute; readonly found: FoundMessage } {
  const guessed = routes.of(firstType(message));
  const found = guessed.schema.transcoder.find(message);
  const route = routes.of(found.rawType);
  if (route === guessed) return { route, found };
  found.drop();
  return { route, found: route.schema.transcoder.find(message) };
}

const BEGINNING = Buffer.from('{"type":"');
const QUOTE = 0x22;

/** The type, where the message begins with it as most do; a guess. */
function firstType(message: Buffer): string | undefined {
  const { length } = BEGINNING;
  if (message.length < length || BEGINNING.compare(message, 0, length) !== 0) return undefined;
  return message.toString('latin1', length, message.indexOf(QUOTE, length));
}

function parsing<T>(message: Buffer, work: () => T): T {
  // What is no UTF-8 would be another text than what was signed.
  if (!isUtf8(message)) throw new HooklineError('UNPARSABLE');
  try {
    return work();
  } catch (error) {
    if (error instanceof NotJson) throw new HooklineError('UNPARSABLE');
    throw error;
  }
}
