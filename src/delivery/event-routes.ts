import type { EventSchema, EventSchemaSet } from '../avro/event-schema.ts';
import type { SchemaIds } from '../avro/resolve-ids.ts';
import { PROBE, topicName } from '../core/names.ts';
import { layHeaders, type RecordHeaders, WireHeaders } from '../core/record-headers.ts';
import { signedBytes, sizedBytes, WireWriter } from '../core/wire-writer.ts';

/** The topic of one event type, with all that is constant about it. */
export type EventRoute = {
  readonly schema: EventSchema;
  /** With the prefix. */
  readonly topic: string;
  readonly schemaId: number;
  readonly classified: boolean;
  readonly headers: EventHeaders;
};

export type EventRoutes = {
  readonly all: readonly EventRoute[];
  /**
   * The route of a message's type, in whatever spelling; what no schema claims goes to `unclassified`. That of the ref of
   * probes is the topic of probes, whatever the type.
   */
  of(type: unknown, ref: string): EventRoute;
};

export function createEventRoutes(schemas: EventSchemaSet, prefix: string, ids: SchemaIds): EventRoutes {
  const createRoute = (schema: EventSchema): EventRoute => ({
    schema,
    topic: topicName(prefix, schema.topic),
    schemaId: ids.of(schema),
    classified: schema.eventTypes.length > 0,
    headers: createEventHeaders(),
  });
  const routes = new Map(schemas.registered.map((schema) => [schema, createRoute(schema)]));
  const routeOf = (schema: EventSchema) => {
    const route = routes.get(schema);
    if (!route) throw new TypeError(`no route for ${schema.file}`);
    return route;
  };
  return {
    all: [...routes.values()],
    of: (type, ref) =>
      routeOf(ref === PROBE.ref ? schemas.probe : (schemas.claiming(type) ?? schemas.unclassified)),
  };
}

/**
 * CloudEvents 1.0 in binary mode for Kafka: the record's value is the data, the context is in `ce_` headers.
 */
type EventContext = {
  readonly eventId: string;
  readonly ref: string;
  readonly type: string;
  /** As bytes, which are the record's key too. */
  readonly entityId: Buffer | null;
  readonly receivedAt: number;
  readonly traceparent: string | undefined;
};

type EventHeaders = (context: EventContext) => RecordHeaders;

const NAMES = {
  id: Buffer.from('ce_id'),
  source: Buffer.from('ce_source'),
  type: Buffer.from('ce_type'),
  specversion: Buffer.from('ce_specversion'),
  time: Buffer.from('ce_time'),
  subject: Buffer.from('ce_subject'),
  contentType: Buffer.from('content-type'),
  traceparent: Buffer.from('traceparent'),
};
const SPECVERSION = Buffer.from('1.0');
const CONTENT_TYPE = Buffer.from('application/avro');

/**
 * Lays out the headers of one event after another. What is the same as in the last one is copied from it: nearly all events
 * of a route have one ref and one type, and at a high rate many have one millisecond.
 */
function createEventHeaders(): EventHeaders {
  let last: { ref: string; type: string; receivedAt: number; bytes: Buffer } | undefined;
  const sameBytes = (ref: string, type: string, receivedAt: number): Buffer => {
    if (last?.receivedAt === receivedAt && last.ref === ref && last.type === type) return last.bytes;
    const bytes = layHeaders(sameHeaders(ref, type, receivedAt));
    last = { ref, type, receivedAt, bytes };
    return bytes;
  };
  return (context) => {
    const { eventId, ref, type, entityId, receivedAt, traceparent } = context;
    if (type.length > MAX_COPIED_BYTES || (entityId?.length ?? 0) > MAX_COPIED_BYTES)
      return longHeaders(context);
    const bytes = sameBytes(ref, type, receivedAt);
    let size = SAME_HEADERS + 1;
    let most = 1 + sizedBytes(NAMES.id) + signedBytes(eventId.length) + eventId.length + bytes.length;
    if (entityId !== null) {
      size++;
      most += sizedBytes(NAMES.subject) + sizedBytes(entityId);
    }
    if (traceparent !== undefined) {
      size++;
      most += sizedBytes(NAMES.traceparent) + signedBytes(traceparent.length) + traceparent.length;
    }
    const out = new WireWriter(Buffer.allocUnsafe(most));
    out.signed(size);
    out.sized(NAMES.id);
    out.latin1(eventId);
    out.copy(bytes);
    if (entityId !== null) {
      out.sized(NAMES.subject);
      out.sized(entityId);
    }
    if (traceparent !== undefined) {
      out.sized(NAMES.traceparent);
      out.latin1(traceparent);
    }
    return new WireHeaders(size, out.buffer);
  };
}

/** A type or an entity that is as long as a message is not copied: it is the record's key, or in the message. */
function longHeaders({ eventId, ref, type, entityId, receivedAt, traceparent }: EventContext): RecordHeaders {
  return new Map([
    [NAMES.id, Buffer.from(eventId, 'latin1')],
    ...sameHeaders(ref, type, receivedAt),
    ...(entityId === null ? [] : [[NAMES.subject, entityId] as const]),
    ...(traceparent === undefined ? [] : [[NAMES.traceparent, Buffer.from(traceparent, 'latin1')] as const]),
  ]);
}

const MAX_COPIED_BYTES = 1_024;
const SAME_HEADERS = 5;

const sameHeaders = (ref: string, type: string, receivedAt: number) =>
  [
    [NAMES.source, Buffer.from(`/webhooks/${ref}`, 'latin1')],
    [NAMES.type, Buffer.from(type)],
    [NAMES.specversion, SPECVERSION],
    [NAMES.time, Buffer.from(new Date(receivedAt).toISOString(), 'latin1')],
    [NAMES.contentType, CONTENT_TYPE],
  ] as const;
