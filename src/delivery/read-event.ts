import { isUtf8 } from 'node:buffer';
import { TooLong } from '../avro/avro-writer.ts';
import type { SourcePolicy } from '../avro/event-schema.ts';
import type { FoundMessage, ListRoom } from '../avro/transcoder.ts';
import type { DriftSink } from '../avro/value-writer.ts';
import type { DeliveryIdentity, OpenedMessage } from '../core/delivery.ts';
import { HooklineError } from '../core/errors.ts';
import { NotJson } from '../core/json-scanner.ts';
import { PROBE } from '../core/names.ts';
import { MAX_MESSAGE_BYTES } from '../core/record.ts';
import { eventIdOf } from '../crypto/ids.ts';
import { orderKey } from './claim-check.ts';
import { type EncodedEvent, encodeByPolicy } from './encode-by-policy.ts';
import type { EventRoute } from './event-routes.ts';
import type { DeliveryPorts } from './ports.ts';

/** A message that is JSON: its event has an id, and can be encoded. */
export type ReadEvent = {
  readonly message: Buffer;
  readonly eventId: string;
  /** Where messages of its type are kept. */
  readonly source: SourcePolicy;
  /**
   * The record: Avro in the wire format, keyed by the entity, with CloudEvents headers; and the object that it refers to
   * where it does not hold its message. To be called before the next message is read.
   * @param isTaken other bytes have the object's usual name
   * @throws HooklineError UNENCODABLE; RECORD_TOO_LARGE where no topic could take it, or it would take more memory than there is
   * @throws TooLong where it would take more than its share
   */
  readonly encode: (isTaken: boolean) => EncodedEvent;
};

type Ports = Pick<DeliveryPorts, 'routes' | 'observer' | 'memory' | 'claims' | 'limitOf' | 'recordRoom'>;

/**
 * Reads a message. Its text is kept exactly: numbers beyond double precision and the order of members too.
 * @throws HooklineError UNPARSABLE: other bytes than UTF-8, a byte order mark, or no JSON; NOT_A_PROBE
 */
export function readEvent(opened: OpenedMessage, ports: Ports): ReadEvent {
  const { message, subscriptionId } = opened;
  const { route, found } = findRouted(opened, ports, (schema) => listRoom(schema.source, message, ports));
  const eventId = eventIdOf(subscriptionId, message);
  const encode = (isTaken: boolean) => {
    if (!route.classified) ports.observer.unclassified();
    try {
      return encodeRecord(opened, { eventId, route, found, isTaken }, ports);
    } catch (error) {
      if (error instanceof TooLong) throw tooLong(error, route, ports);
      if (error instanceof HooklineError) throw error;
      throw new HooklineError('UNENCODABLE', undefined, { cause: error, topic: route.topic });
    } finally {
      found.drop();
    }
  };
  return { message, eventId, source: route.schema.source, encode };
}

/** Bytes that there are for a record. */
const roomOf = ({ recordRoom }: Pick<Ports, 'recordRoom'>): number =>
  Math.min(MAX_MESSAGE_BYTES, recordRoom?.bytes ?? MAX_MESSAGE_BYTES);

function tooLong(cause: TooLong, { topic }: EventRoute, ports: Ports): Error {
  if (ports.recordRoom?.isShare) return cause;
  const detail = `it would have more than ${roomOf(ports)} bytes`;
  return new HooklineError('RECORD_TOO_LARGE', detail, { cause, topic });
}

/** What is kept of the lists: with an object store, what fits the record that refers to the message; else all or nothing. */
function listRoom(source: SourcePolicy, message: Buffer, ports: Ports): ListRoom {
  const room = roomOf(ports);
  const { claims } = ports;
  if (claims) return { maxEach: Math.min(claims.maxRecordBytes, room), maxAll: room };
  const bytes = source === 'omit' ? room : room - message.length;
  return { maxEach: bytes, maxAll: bytes };
}

/** Where only the type and the entity are asked for. */
const NOTHING: ListRoom = { maxEach: 0, maxAll: 0 };

/** Whether a list was left out that would be in the record if there was more memory for it. */
function isCut({ listBytes }: FoundMessage, ports: Ports): boolean {
  if (listBytes < Number.POSITIVE_INFINITY || !ports.recordRoom?.isShare) return false;
  return !ports.claims || ports.claims.maxRecordBytes > roomOf(ports);
}

/** What a message is known by, and where messages of its type are kept. @throws HooklineError UNPARSABLE, NOT_A_PROBE */
export function readIdentity(
  opened: OpenedMessage,
  ports: Pick<DeliveryPorts, 'routes'>,
): DeliveryIdentity & { readonly source: SourcePolicy } {
  const { route, found } = findRouted(opened, ports, () => NOTHING);
  found.drop();
  const eventId = eventIdOf(opened.subscriptionId, opened.message);
  const order = orderKey({ topic: route.topic, key: keyOf(found, eventId) });
  return { eventId, order, source: route.schema.source };
}

/** Without an entity there is no order to keep: the event's own id spreads such events. */
const keyOf = ({ entityId }: FoundMessage, eventId: string): Buffer =>
  entityId ? Buffer.from(entityId) : Buffer.from(eventId, 'latin1');

function encodeRecord(
  opened: OpenedMessage,
  { eventId, route, found, isTaken }: RoutedMessage,
  ports: Ports,
): EncodedEvent {
  if (isCut(found, ports)) throw new TooLong();
  const { ref, receivedAt, traceparent } = opened;
  const type = found.type || route.schema.topic;
  const key = keyOf(found, eventId);
  const entityId = found.entityId ? key : null;
  const headers = route.headers({ eventId, ref, type, entityId, receivedAt, traceparent });
  const { topic, schemaId } = route;
  const envelope = { eventId, subscription: ref, receivedAt };
  const drift: DriftSink = (field, count) => ports.observer.drift(topic, field, count);
  if (ports.claims || route.schema.source !== 'keep') {
    const event = {
      message: opened.message,
      envelope,
      route,
      found,
      isTaken,
      record: { topic, key, headers },
    };
    return encodeByPolicy(event, { ...ports, drift });
  }
  const room = { maxBytes: roomOf(ports), memory: ports.memory };
  return { record: { topic, key, headers, value: found.write(envelope, schemaId, drift, room) } };
}

type RoutedMessage = {
  readonly eventId: string;
  readonly route: EventRoute;
  readonly found: FoundMessage;
  readonly isTaken: boolean;
};

type Routed = { readonly route: EventRoute; readonly found: FoundMessage };

/** @throws HooklineError NOT_A_PROBE: anything else than a probe came through the ref of probes */
function findRouted(
  { message, ref }: OpenedMessage,
  { routes }: Pick<DeliveryPorts, 'routes'>,
  roomFor: (schema: EventRoute['schema']) => ListRoom,
): Routed {
  const routed = parsing(message, () => routeByType(message, routes, ref, roomFor));
  if (ref !== PROBE.ref || routed.found.rawType === PROBE.type) return routed;
  routed.found.drop();
  throw new HooklineError('NOT_A_PROBE');
}

/** The type is in the message, mostly at its beginning; otherwise the message is walked over once more. */
function routeByType(
  message: Buffer,
  routes: DeliveryPorts['routes'],
  ref: string,
  roomFor: (schema: EventRoute['schema']) => ListRoom,
): Routed {
  const guessed = routes.of(firstType(message), ref);
  const found = guessed.schema.transcoder.find(message, roomFor(guessed.schema));
  const route = routes.of(found.rawType, ref);
  if (route === guessed) return { route, found };
  found.drop();
  return { route, found: route.schema.transcoder.find(message, roomFor(route.schema)) };
}

const BEGINNING = Buffer.from('{"type":"');
const QUOTE = 0x22;

/** Longer types are none that a schema claims. */
const MAX_GUESSED = 1_024;

/** The type, where the message begins with it as most do; a guess. */
function firstType(message: Buffer): string | undefined {
  const { length } = BEGINNING;
  if (message.length < length || BEGINNING.compare(message, 0, length) !== 0) return undefined;
  const end = message.indexOf(QUOTE, length);
  return end < 0 || end > length + MAX_GUESSED ? undefined : message.toString('latin1', length, end);
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
