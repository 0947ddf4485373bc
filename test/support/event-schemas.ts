import { eventSchemasIn, readEventSchemas, type SourcePolicy } from '../../src/avro/event-schema.ts';
import { readSchemaFiles } from '../../src/avro/schema-files.ts';

/** The event schemas that come with Hookline. */
export const ownEventSchemas = () => eventSchemasIn(undefined);

/** The same, and where the messages of some topics are kept. */
export const eventSchemasWith = (policies: Readonly<Record<string, SourcePolicy>>) =>
  readEventSchemas(
    readSchemaFiles(undefined, 'events').map((file) => {
      const schema = JSON.parse(file.text);
      const source = policies[schema.topic];
      return source ? { ...file, text: JSON.stringify({ ...schema, source }) } : file;
    }),
  );

const SOURCE_REF = {
  type: 'record',
  name: 'SourceRef',
  fields: [
    { name: 'uri', type: 'string' },
    { name: 'bytes', type: 'long' },
    { name: 'sha256', type: 'string' },
    { name: 'omitted', type: { type: 'array', items: 'string' } },
  ],
};

/** The text of a schema file with the envelope, and these fields and attributes. */
export function schemaText(fields: readonly object[] = [], attributes: object = {}): string {
  return JSON.stringify({
    type: 'record',
    name: 'Example',
    namespace: 'test',
    topic: 'example',
    eventTypes: ['example'],
    ...attributes,
    fields: [
      { name: 'eventId', type: 'string' },
      { name: 'type', type: ['null', 'string'], default: null, pointer: '/type' },
      { name: 'entityId', type: ['null', 'string'], default: null, pointer: '/entityId' },
      { name: 'subscription', type: 'string' },
      { name: 'receivedAt', type: { type: 'long', logicalType: 'timestamp-millis' } },
      { name: 'source', type: ['null', 'string'], default: null, 'confluent:tags': ['PII'] },
      { name: 'sourceRef', type: ['null', SOURCE_REF], default: null },
      ...fields,
    ],
  });
}

/** A field that may be null, found under its own name in the payload unless told otherwise. */
export const field = (name: string, type: unknown, pointer = `/payload/${name}`) => ({
  name,
  type: ['null', type],
  default: null,
  pointer,
});
