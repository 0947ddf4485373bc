import type { EventSchema, EventSchemaSet } from '../avro/event-schema.ts';
import type { SchemaIds } from '../avro/resolve-ids.ts';
import { topicName } from '../core/names.ts';
import { createEventHeaders, type EventHeaders } from './event-headers.ts';

/** Where events of one type go, all that is constant about it looked up once. */
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
  /** The route of a message's type, in whatever spelling; what no schema claims goes to `unclassified`. */
  of(type: unknown): EventRoute;
};

export function createEventRoutes(schemas: EventSchemaSet, prefix: string, ids: SchemaIds): EventRoutes {
  const createRoute = (schema: EventSchema): EventRoute => ({
    schema,
    topic: topicName(prefix, schema.topic),
    schemaId: ids.of(schema),
    classified: schema.eventTypes.length > 0,
    headers: createEventHeaders(),
  });
  const routes = new Map(schemas.all.map((schema) => [schema, createRoute(schema)]));
  const routeOf = (schema: EventSchema) => {
    const route = routes.get(schema);
    if (!route) throw new TypeError(`no route for ${schema.file}`);
    return route;
  };
  return {
    all: [...routes.values()],
    of: (type) => routeOf(schemas.claiming(type) ?? schemas.unclassified),
  };
}
