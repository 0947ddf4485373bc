import type { EventSchema, EventSchemaSet } from '../avro/event-schema.ts';
import type { SchemaIds } from '../avro/resolve-ids.ts';
import { PROBE, topicName } from '../core/names.ts';

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

type EventHeaders = (context: EventContext) => Map<Buffer, Buffer>;

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
 * Writes the headers of one event after another. What is the same as in the last one is taken from it: nearly all events
 * of a route have one ref and one type, and at a high rate many have one millisecond.
 */
function createEventHeaders(): EventHeaders {
  const sourceOf = keepLast((ref: string) => Buffer.from(`/webhooks/${ref}`, 'latin1'));
  const typeOf = keepLast((type: string) => Buffer.from(type));
  const timeOf = keepLast((at: number) => Buffer.from(new Date(at).toISOString(), 'latin1'));
  return ({ eventId, ref, type, entityId, receivedAt, traceparent }) => {
    const headers = new Map<Buffer, Buffer>();
    headers.set(NAMES.id, Buffer.from(eventId, 'latin1'));
    headers.set(NAMES.source, sourceOf(ref));
    headers.set(NAMES.type, typeOf(type));
    headers.set(NAMES.specversion, SPECVERSION);
    headers.set(NAMES.time, timeOf(receivedAt));
    headers.set(NAMES.contentType, CONTENT_TYPE);
    if (entityId !== null) headers.set(NAMES.subject, entityId);
    if (traceparent !== undefined) headers.set(NAMES.traceparent, Buffer.from(traceparent, 'latin1'));
    return headers;
  };
}

function keepLast<K>(make: (key: K) => Buffer): (key: K) => Buffer {
  let last: K | undefined;
  let made: Buffer = Buffer.alloc(0);
  return (key) => {
    if (key !== last) {
      made = make(key);
      last = key;
    }
    return made;
  };
}
