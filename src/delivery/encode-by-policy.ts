import type { EnvelopeValues } from '../avro/envelope.ts';
import type { FoundMessage } from '../avro/transcoder.ts';
import { DriftCounts, type DriftSink } from '../avro/value-writer.ts';
import { HooklineError } from '../core/errors.ts';
import { type OutgoingObject, type OutgoingRecord, wireBytes } from '../core/record.ts';
import { sha256Of } from '../crypto/ids.ts';
import type { ClaimCheck } from './claim-check.ts';
import type { EventRoute } from './event-routes.ts';
import type { DeliveryPorts } from './ports.ts';

/** An event's record, and its message where that goes to the object store. */
export type EncodedEvent = { readonly record: OutgoingRecord; readonly object?: OutgoingObject | undefined };

/** An event to encode, with the record that it becomes but for the value. */
export type EncodingEvent = {
  readonly message: Buffer;
  readonly envelope: EnvelopeValues;
  readonly route: Pick<EventRoute, 'schema' | 'topic' | 'schemaId'>;
  readonly found: FoundMessage;
  /** Other bytes have the object's usual name. */
  readonly isTaken: boolean;
  readonly record: Omit<OutgoingRecord, 'value'>;
};

type Claims = Pick<ClaimCheck, 'maxRecordBytes' | 'uriOf'>;

type Ports = Pick<DeliveryPorts, 'limitOf' | 'memory'> & {
  readonly claims?: Claims | undefined;
  readonly drift: DriftSink;
};

/**
 * Encodes an event of a type whose messages do not stay in Kafka, or any event where there is an object store: a message
 * that is too large for its record goes there. A drift is counted once, however often the record is written.
 * @throws HooklineError UNENCODABLE
 */
export function encodeByPolicy(event: EncodingEvent, ports: Ports): EncodedEvent {
  const { route, found } = event;
  const { claims } = ports;
  if (claims) checkNames(found, route);
  const maxBytes = Math.min(
    claims?.maxRecordBytes ?? Number.POSITIVE_INFINITY,
    ports.limitOf(route.topic) - RESERVED_BYTES,
  );
  const whole = writeWhole(event, maxBytes, ports);
  if (whole) return { record: whole };
  if (!claims)
    throw new HooklineError(
      'UNENCODABLE',
      'a value does not fit its field or its record, its type keeps no message in Kafka, and BODY_STORE is not set',
      { topic: route.topic },
    );
  return refer(event, claims, maxBytes, ports);
}

/** For the headers that a redrive adds. */
const RESERVED_BYTES = 512;

/** A record that refers to no object: with its message, or without it where the type keeps none. Null where there is none. */
function writeWhole(
  { message, envelope, route, found, record }: EncodingEvent,
  maxBytes: number,
  { drift, memory }: Ports,
): OutgoingRecord | null {
  const { schemaId, schema } = route;
  const drifted = new DriftCounts();
  if (schema.source === 'omit') {
    const place = { reference: undefined, maxBytes: maxBytes - wireBytes({ ...record, value: null }) };
    const { value, omitted } = found.writeWithout(envelope, schemaId, drifted.add, place);
    return drifted.isEmpty && omitted.length === 0 ? { ...record, value } : null;
  }
  if (schema.source === 'reference' || message.length + found.listBytes > maxBytes) return null;
  const value = found.write(envelope, schemaId, drifted.add, { memory });
  if (wireBytes({ ...record, value }) > maxBytes) {
    memory?.give(value);
    return null;
  }
  drifted.reportTo(drift);
  return { ...record, value };
}

function refer(event: EncodingEvent, claims: Claims, maxBytes: number, { drift }: Ports): EncodedEvent {
  const { envelope, route, found, record } = event;
  const object = objectOf(event, claims);
  const reference = { uri: object.uri, sha256: object.sha256, bytes: object.bytes.length };
  const place = { reference, maxBytes: maxBytes - wireBytes({ ...record, value: null }) };
  const { value } = found.writeWithout(envelope, route.schemaId, drift, place);
  return { record: { ...record, value }, object };
}

/** An event id fixes its message's bytes. Where other bytes have the name all the same, the hash makes another one. */
function objectOf({ message, envelope, route, isTaken }: EncodingEvent, claims: Claims): OutgoingObject {
  const { eventId, receivedAt } = envelope;
  const sha256 = sha256Of(message);
  const name = isTaken ? `${eventId}-${sha256}.json` : `${eventId}.json`;
  const uri = claims.uriOf({ topic: route.topic, receivedAt, name });
  return { uri, bytes: message, sha256, contentType: 'application/json' };
}

/** Bytes of a type or an entity, which are also headers and the key: a record that refers to its message must stay small. */
const MAX_NAME_BYTES = 4_096;

/** @throws HooklineError UNENCODABLE */
function checkNames({ type, entityId }: FoundMessage, { topic }: EncodingEvent['route']): void {
  for (const [name, text] of Object.entries({ type, entityId })) {
    const bytes = Buffer.byteLength(text ?? '');
    if (bytes > MAX_NAME_BYTES)
      throw new HooklineError(
        'UNENCODABLE',
        `${name} has ${bytes} bytes: with BODY_STORE at most ${MAX_NAME_BYTES} are possible`,
        { topic },
      );
  }
}
