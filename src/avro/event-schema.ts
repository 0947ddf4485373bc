import { OWN_TOPICS } from '../core/names.ts';
import { type AvroField, type AvroType, qualify } from './avro-schema.ts';
import { ENVELOPE, envelopeFault } from './envelope.ts';
import { readFieldShapes, withoutRounding } from './event-shape.ts';
import { compileCodec, type RecordCodec } from './record-codec.ts';
import {
  readProbeFile,
  readSchemaFiles,
  SchemaFault,
  type SchemaFile,
  schemaInvalid,
} from './schema-files.ts';
import { readTaggedType, type TaggedType } from './tagged-type.ts';
import { Transcoder } from './transcoder.ts';

/** One event type: what it is called, where it goes, and how a message becomes its record. */
export type EventSchema = {
  readonly file: string;
  /** Without the prefix. */
  readonly topic: string;
  /** All spellings of the type; none for the one that takes what no other claims. */
  readonly eventTypes: readonly string[];
  readonly codec: RecordCodec;
  /** Where the messages of the type are kept. */
  readonly source: SourcePolicy;
  /** Which fields its records have, at any depth, and what is sensitive in them. */
  readonly tagged: TaggedType;
  /** From a message's bytes to its record's. */
  readonly transcoder: Transcoder;
};

/**
 * - `keep`: in the record, or in the object store where the record would be too large
 * - `reference`: in the object store
 * - `omit`: nowhere, as all of it is in typed fields, exactly; one with drift in the object store
 */
export type SourcePolicy = (typeof SOURCE_POLICIES)[number];
const SOURCE_POLICIES = ['keep', 'reference', 'omit'] as const;

type EventSchemaJson = AvroType & {
  readonly topic?: unknown;
  readonly eventTypes?: unknown;
  readonly source?: unknown;
};

/** A Kafka topic's characters; the names of Hookline's own topics are taken. */
const TOPIC = /^[a-zA-Z0-9._-]{1,200}$/;
const TAKEN: ReadonlySet<string> = new Set(Object.values(OWN_TOPICS));

/**
 * Reads and compiles one file of schemas/events.
 * @throws HooklineError SCHEMA_INVALID naming the file and the field
 */
export const readEventSchema = (file: SchemaFile): EventSchema => compileFile(file, TAKEN);

function compileFile(file: SchemaFile, taken: ReadonlySet<string>): EventSchema {
  try {
    const json = parseSchema(file.text);
    checkEnvelope(json.fields ?? []);
    const { schema, types } = qualify<AvroType>(json);
    const shapes = readFieldShapes(schema.fields ?? [], types);
    const source = readPolicy(json);
    return {
      file: file.name,
      topic: readTopic(json, taken),
      eventTypes: readEventTypes(json),
      codec: compileCodec(json),
      source,
      tagged: readTaggedType(schema, types),
      transcoder: new Transcoder(source === 'omit' ? withoutRounding(shapes) : shapes),
    };
  } catch (error) {
    throw schemaInvalid(file.name, error);
  }
}

function parseSchema(text: string): EventSchemaJson {
  const json: unknown = JSON.parse(text, (_, value) => {
    checkNamespace(value);
    return value;
  });
  const isRecord = typeof json === 'object' && json !== null && (json as AvroType).type === 'record';
  if (!isRecord || !Array.isArray((json as AvroType).fields)) throw new SchemaFault('', 'is no Avro record');
  return json as EventSchemaJson;
}

/**
 * By the specification the namespace beside a name with a dot is ignored. avsc takes it for the types inside, so that a
 * reader with avsc would take their names for other types.
 */
function checkNamespace(value: Partial<AvroType> | null): void {
  const { type, name, namespace } = value ?? {};
  if (type === undefined || namespace === undefined || !String(name).includes('.')) return;
  throw new SchemaFault(
    '',
    `the name ${JSON.stringify(name)} has a namespace: leave out the attribute namespace`,
  );
}

const NONE: ReadonlySet<string> = new Set();

function readTopic({ topic }: EventSchemaJson, taken: ReadonlySet<string>): string {
  if (typeof topic !== 'string' || !TOPIC.test(topic)) {
    throw new SchemaFault(
      'topic',
      'must name the topic without its prefix, in letters, digits, ".", "_" and "-"',
    );
  }
  if (taken.has(topic))
    throw new SchemaFault('topic', `${JSON.stringify(topic)} is one of Hookline's own topics`);
  return topic;
}

function readEventTypes({ eventTypes }: EventSchemaJson): readonly string[] {
  if (!Array.isArray(eventTypes) || !eventTypes.every((type) => typeof type === 'string' && type !== '')) {
    throw new SchemaFault('eventTypes', 'must list the spellings of the type, each a non-empty string');
  }
  return eventTypes;
}

function readPolicy({ source = 'keep', eventTypes }: EventSchemaJson): SourcePolicy {
  const policy = SOURCE_POLICIES.find((one) => one === source);
  if (policy === undefined) throw new SchemaFault('source', `must be one of ${SOURCE_POLICIES.join(', ')}`);
  if (policy === 'omit' && Array.isArray(eventTypes) && eventTypes.length === 0)
    throw new SchemaFault(
      'source',
      'cannot be omit where no type is claimed: nothing would be left of a message',
    );
  return policy;
}

function checkEnvelope(fields: readonly AvroField[]): void {
  for (const [n, expected] of ENVELOPE.entries()) {
    const fault = envelopeFault(expected, fields[n]);
    if (fault) throw new SchemaFault(expected.name, fault);
  }
  const stray = fields.slice(ENVELOPE.length).find((field) => field.pointer === undefined);
  if (stray) throw new SchemaFault(stray.name, 'has no pointer: say where in the message its value stands');
}

/** All event types, found by the type that a message names. */
export type EventSchemaSet = {
  /** What it was compiled from: a thread compiles the same, whatever the folder holds by then. */
  readonly files: readonly SchemaFile[];
  /** Those of events. */
  readonly all: readonly EventSchema[];
  /** That of probes, which is no event's: neither its type nor its topic is among those of `all`. */
  readonly probe: EventSchema;
  /** All of these. */
  readonly registered: readonly EventSchema[];
  /** The one without eventTypes: it takes what no other claims. */
  readonly unclassified: EventSchema;
  /** The schema that claims this type, in whatever spelling, or undefined. */
  claiming(type: unknown): EventSchema | undefined;
};

/**
 * The schemas of SCHEMAS_DIR/events.
 * @throws HooklineError SCHEMA_INVALID
 */
export const eventSchemasIn = (dir: string | undefined): EventSchemaSet =>
  readEventSchemas(readSchemaFiles(dir, 'events'));

/**
 * Compiles these files of schemas/events.
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
  const probe = compileFile(readProbeFile(), NONE);
  const registered = [...all, probe];
  return { files, all, unclassified, probe, registered, claiming: (type) => byType.get(type) };
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
