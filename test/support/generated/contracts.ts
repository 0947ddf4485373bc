import { createHash } from 'node:crypto';
import { stringify } from 'yaml';
import type { AvroType } from '../../../src/avro/avro-schema.ts';
import { type EventSchema, readEventSchema } from '../../../src/avro/event-schema.ts';
import { readSchemaFiles, type SchemaFile } from '../../../src/avro/schema-files.ts';
import { OWN_TOPICS, subjectOf, topicName } from '../../../src/core/names.ts';
import { topicSpecs } from '../../../src/kafka/admin/topic-specs.ts';
import { type Property, propertiesOf } from './contract-properties.ts';
import { eventRules, OWN_RULES, type Rules } from './contract-quality.ts';

export const CONTRACTS = 'schemas/contracts';
const PREFIX = 'payments';
/** Of the schemas (docs/consuming.md): a schema file that goes on from there says so in `version`. */
const VERSION = '1.0.0';
/** Whoever runs Hookline, unless a schema file names its `owner`. */
const OWNER = 'hookline-operators';

type Schema = AvroType & {
  readonly name: string;
  readonly namespace: string;
  readonly doc: string;
  readonly topic: string;
  readonly owner?: unknown;
  readonly version?: unknown;
};

/** What a contract says of a topic in words: why it is there, how to use it, what it is not. */
type Words = {
  readonly kind: string;
  readonly key: string;
  readonly usage: string;
  readonly limitations: string;
};

const EVENT: Words = {
  kind: 'event',
  key: 'entityId, so that events of one entity are in order; the event id where there is none',
  usage:
    'De-duplicate on eventId. Read with the schema of the writer, from the registry. The message is authoritative: a typed field is null if its value was missing or did not fit.',
  limitations:
    'Delivery is at least once: a repeat has the eventId of its event and may follow later events of its key. There is no order between keys. Where sourceRef is set, the message is in the object store, and the fields that sourceRef.omitted lists are null.',
};

const OWN: Readonly<Record<string, Words>> = {
  [OWN_TOPICS.commands]: {
    kind: 'command',
    key: 'ref: commands of one ref are carried out in their order',
    usage: 'Teams write commands here, or on a topic of their own that COMMAND_TOPICS names.',
    limitations:
      'A value may also be JSON with the same fields: this contract describes those in Avro. What control cannot carry out is REJECTED.',
  },
  [OWN_TOPICS.results]: {
    kind: 'result',
    key: 'commandId',
    usage: 'Wait for the result of a command by its commandId.',
    limitations:
      'Delivery is at least once. DRIFT is a report of the reconciler and not the result of a command.',
  },
  [OWN_TOPICS.subscriptions]: {
    kind: 'state',
    key: 'ref',
    usage: 'The latest value of a ref is its state; a null value forgets the ref.',
    limitations:
      'Written by control alone. Skip keys that begin with #: their values are not Avro. Ignore a record whose header hookline.epoch is lower than one before it in its partition.',
  },
};

/** By path, the data contract of each topic that has a schema. A dead-letter record has none: it is bytes as received. */
export function contracts(): Record<string, () => string> {
  const files = (['events', 'commands'] as const).flatMap((kind) => readSchemaFiles(undefined, kind));
  return Object.fromEntries(
    files.map((file) => [
      `${CONTRACTS}/${JSON.parse(file.text).topic}.odcs.yaml`,
      () =>
        `# Generated from schemas/${file.name} and src/kafka/admin/topic-specs.ts by \`make docs\`: do not edit by hand.\n${stringify(
          contractOf(file),
          { lineWidth: 110, aliasDuplicateObjects: false },
        )}`,
    ]),
  );
}

/** The data contract (Open Data Contract Standard 3.1) of a schema file's topic. */
export function contractOf(file: SchemaFile) {
  const schema: Schema = JSON.parse(file.text);
  const { topic, name, doc } = schema;
  const own = OWN[topic];
  const event = own ? undefined : readEventSchema(file);
  const words = own ?? EVENT;
  const rules = event ? eventRules(event) : (OWN_RULES[topic] ?? { records: [], fields: {} });
  const fullName = topicName(PREFIX, topic);
  const properties = withRules(propertiesOf(schema), rules);
  const tags = new Set(tagsOf(properties));
  return {
    apiVersion: 'v3.1.0',
    kind: 'DataContract',
    id: idOf(fullName),
    name: fullName,
    version: rootText(schema, 'version', VERSION),
    status: 'active',
    domain: PREFIX,
    tags: ['hookline', words.kind, ...tags],
    description: { purpose: doc, usage: words.usage, limitations: words.limitations },
    servers: [
      {
        server: 'kafka',
        type: 'kafka',
        description: 'Values are in the wire format of Confluent; the registry has their schemas.',
        // datacontract-cli takes it from the environment.
        host: `\${KAFKA_BROKERS:-localhost:9092}`,
        format: 'avro',
      },
    ],
    schema: [
      {
        name,
        physicalName: fullName,
        physicalType: 'topic',
        logicalType: 'object',
        description: doc,
        authoritativeDefinitions: [
          { url: `schemas/${file.name}`, type: 'implementation', description: 'The Avro schema.' },
        ],
        customProperties: customOf(schema, words, event),
        properties,
        ...(rules.records.length > 0 && { quality: rules.records }),
      },
    ],
    team: {
      name: rootText(schema, 'owner', OWNER),
      ...(schema.owner === undefined && {
        description: 'The default: a schema file names another in `owner`.',
      }),
    },
    slaProperties: [retentionOf(fullName)],
  };
}

function customOf({ namespace, topic }: Schema, { key }: Words, event: EventSchema | undefined) {
  const all = {
    namespace,
    recordKey: key,
    subject: subjectOf(topicName(PREFIX, topic)),
    compatibility: 'FULL_TRANSITIVE',
    ...(event && { eventTypes: event.eventTypes, deduplicateOn: 'eventId', delivery: 'at least once' }),
  };
  return Object.entries(all).map(([property, value]) => ({ property, value }));
}

/** `owner` and `version` of a schema file's root: texts that Avro passes over. */
function rootText(schema: Schema, name: 'owner' | 'version', fallback: string): string {
  const value = schema[name] ?? fallback;
  if (typeof value === 'string' && value !== '') return value;
  throw new Error(`${schema.topic}: ${name} must be a text, such as ${JSON.stringify(fallback)}`);
}

function withRules(properties: readonly Property[], { fields }: Rules, path = ''): Property[] {
  return properties.map((property) => {
    const at = `${path}${property.name}`;
    const { logicalTypeOptions, quality } = fields[at] ?? {};
    return {
      ...property,
      ...(logicalTypeOptions && { logicalTypeOptions }),
      ...(property.properties && {
        properties: withRules(property.properties, { records: [], fields }, `${at}.`),
      }),
      ...(quality && { quality }),
    } as Property;
  });
}

const tagsOf = (properties: readonly Property[]): string[] =>
  properties.flatMap(({ tags = [], properties = [], items }) => [
    ...tags,
    ...tagsOf(properties),
    ...tagsOf(items ? [items] : []),
  ]);

/** How long the topic keeps its records, as `hookline topics apply` sets it. */
function retentionOf(topic: string) {
  const specs = topicSpecs({
    prefix: PREFIX,
    eventTopics: [],
    commandTopics: [topicName(PREFIX, OWN_TOPICS.commands)],
    partitions: 6,
    replicationFactor: 3,
    maxRecordBytes: 95_000_000,
    minInsyncReplicas: 2,
  });
  const config = specs.find(({ name }) => name === topic)?.config ?? {};
  const ms = config['retention.ms'];
  const retention = { property: 'retention', driver: 'operational' };
  if (ms !== undefined) return { ...retention, value: Number(ms) / 86_400_000, unit: 'd' };
  const description =
    config['cleanup.policy'] === 'compact'
      ? 'Compacted: the latest record of a key is kept until a null value follows it.'
      : 'The default of the cluster: Hookline sets no retention.ms here.';
  return { ...retention, value: null, description };
}

/** UUID version 5 (RFC 9562) of the topic's name in the namespace of URLs: the same whenever it is generated. */
function idOf(topic: string): string {
  const namespace = Buffer.from('6ba7b8119dad11d180b400c04fd430c8', 'hex');
  const bytes = createHash('sha1').update(namespace).update(`urn:hookline:topic:${topic}`).digest();
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x50;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = bytes.toString('hex', 0, 16);
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
