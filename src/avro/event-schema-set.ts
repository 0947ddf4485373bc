import { type EventSchema, readEventSchema, type SchemaFile, schemaInvalid } from './event-schema.ts';

/** All event types, found by the type that a message names. */
export type EventSchemaSet = {
  readonly all: readonly EventSchema[];
  /** The one without eventTypes: it takes what no other claims. */
  readonly unclassified: EventSchema;
  /** The schema that claims this type, in whatever spelling, or undefined. */
  claiming(type: unknown): EventSchema | undefined;
};

/**
 * Compiles every file of schemas/events.
 * @throws HooklineError SCHEMA_INVALID where a file can't be compiled, or two claim one type or one topic
 */
export function readEventSchemas(files: readonly SchemaFile[]): EventSchemaSet {
  const all = files.map(readEventSchema);
  const byType = new Map<unknown, EventSchema>();
  const byTopic = new Map<string, EventSchema>();
  for (const schema of all) {
    claim(byTopic, schema.topic, schema, 'topic');
    for (const type of schema.eventTypes) claim(byType, type, schema, 'type');
  }
  const [unclassified, ...more] = all.filter((schema) => schema.eventTypes.length === 0);
  if (!unclassified || more.length > 0) {
    const names = all.filter((schema) => schema.eventTypes.length === 0).map((schema) => schema.file);
    const fault = new Error('exactly one schema has no eventTypes: it takes what no other claims');
    throw schemaInvalid(names.join(' and ') || 'events', fault);
  }
  return { all, unclassified, claiming: (type) => byType.get(type) };
}

function claim<K>(claims: Map<K, EventSchema>, name: K, schema: EventSchema, what: string): void {
  const other = claims.get(name);
  if (other && (other !== schema || what === 'type')) {
    throw schemaInvalid(
      schema.file,
      new Error(`the ${what} ${JSON.stringify(name)} is claimed by ${other.file} too`),
    );
  }
  claims.set(name, schema);
}
