import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { readProbeFile, readSchemaFiles } from '../../../src/avro/schema-files.ts';
import { COMMAND_TYPES, MAX_EXECUTION_IDS } from '../../../src/core/command.ts';
import { OWN_TOPICS } from '../../../src/core/names.ts';
import { DEAD_LETTER_HEADERS } from '../../../src/delivery/dead-letter/dead-letter-headers.ts';
import { topicSpecs } from '../../../src/kafka/admin/topic-specs.ts';
import { ROOT } from '../source-tree.ts';

type Schema = { file: string; topic: string; name: string; doc: string };

const AVRO = 'application/vnd.apache.avro;version=1.12.0';
const PREFIX = '{prefix}';

/** What stands of a channel beyond its schema: what its key is, and who writes it. */
const KEYS: Readonly<Record<string, string>> = {
  [OWN_TOPICS.commands]: 'The ref. Commands of one ref are carried out in their order.',
  [OWN_TOPICS.results]: 'The commandId.',
  [OWN_TOPICS.subscriptions]: 'The ref; a null value forgets it.',
  [OWN_TOPICS.deadLetter]: "The event's id, or the key that the command had.",
};
const EVENT_KEY =
  "The event's entityId, so that events of one entity are in order; the event id where it has none.";

const text = (description: string, more: object = {}) => ({ type: 'string', description, ...more });

const EVENT_HEADERS = {
  type: 'object',
  description: 'CloudEvents 1.0 in binary mode.',
  required: ['ce_id', 'ce_source', 'ce_type', 'ce_specversion', 'ce_time', 'content-type'],
  properties: {
    ce_id: text('The event id: de-duplicate on it.', { format: 'uuid' }),
    ce_source: text('/webhooks/{ref}'),
    ce_type: text(
      "The event's type as received; where the message has none, the last part of the topic's name: `unclassified`.",
    ),
    ce_specversion: text('', { const: '1.0' }),
    ce_time: text('When the webhook had been received in full.', { format: 'date-time' }),
    ce_subject: text('The entity id, where there is one.'),
    'content-type': text('', { const: 'application/avro' }),
    traceparent: text('W3C trace context to continue.'),
    [DEAD_LETTER_HEADERS.redrivenAt]: text(
      'Of an event that was a dead-letter record: when it was redriven, in milliseconds since 1970.',
      { pattern: '^[0-9]+$' },
    ),
    [DEAD_LETTER_HEADERS.redrivenFrom]: text(
      'Of such an event: its dead-letter record, as topic/partition:offset.',
    ),
    [DEAD_LETTER_HEADERS.redriveCount]: text('Of such an event: how often that record was redriven.', {
      pattern: '^[0-9]+$',
    }),
  },
};

/** schemas/asyncapi.yaml: every topic, from the schema files and the topics' specifications. */
export function asyncapi(): string {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const events = readAll('events');
  const commands = readAll('commands');
  const configs = topicConfigs(events);
  const channels: Record<string, object> = {};
  const operations: Record<string, object> = {};
  const add = (
    channel: { id: string; topic: string; key: string; description: string; message: object },
    action: 'send' | 'receive',
  ) => {
    const { id, topic, key, description, message } = channel;
    channels[id] = {
      address: `${PREFIX}.${topic}`,
      description,
      parameters: { prefix: { description: 'TOPIC_PREFIX.', default: 'payments' } },
      messages: { [id]: { ...message, bindings: { kafka: { key: text(key) } } } },
      bindings: { kafka: { topicConfiguration: configs.get(topic) } },
    };
    operations[`${action}-${id}`] = { action, channel: { $ref: `#/channels/${id}` } };
  };
  for (const { file, topic, name, doc } of events) {
    const message = { name, contentType: 'application/avro', headers: EVENT_HEADERS, payload: avro(file) };
    add({ id: topic, topic, key: EVENT_KEY, description: doc, message }, 'send');
  }
  for (const { file, topic, name, doc } of commands) {
    const message = { name, contentType: 'application/avro', payload: avro(file) };
    const action = topic === OWN_TOPICS.commands ? 'receive' : 'send';
    add({ id: topic, topic, key: KEYS[topic] ?? '', description: doc, message }, action);
  }
  const { deadLetter } = OWN_TOPICS;
  add(
    {
      id: deadLetter,
      topic: deadLetter,
      key: KEYS[deadLetter] ?? '',
      description:
        'Verified webhooks and commands that could not be processed, as they arrived: `hookline dlq`.',
      message: {
        name: 'DeadLetter',
        headers: deadLetterHeaders(),
        payload: text('The original bytes.', { format: 'binary' }),
      },
    },
    'send',
  );
  const { audit, probe } = OWN_TOPICS;
  add(
    {
      id: audit,
      topic: audit,
      key: 'The user.',
      description: 'Reserved: who changed what, and when.',
      message: { name: 'Audit', contentType: 'application/json', payload: { type: 'object' } },
    },
    'send',
  );
  add(
    {
      id: probe,
      topic: probe,
      key: 'The probe id.',
      description: 'Probes of `hookline verify`, which never enter an event topic. Only it reads them.',
      message: {
        name: 'Probe',
        contentType: 'application/avro',
        headers: EVENT_HEADERS,
        payload: avro(readProbeFile().name),
      },
    },
    'send',
  );
  const document = {
    asyncapi: '3.0.0',
    info: {
      title: 'Hookline',
      version,
      description: [
        "A payment provider's webhooks as Avro events, and commands that manage its subscriptions.",
        "Values are in Confluent's wire format (byte 0, four bytes of schema id, Avro), registered as {topic}-value,",
        'FULL_TRANSITIVE: fields are added and removed with a default, so that readers of any version read records of any other.',
        `Commands may be JSON too; their types: ${COMMAND_TYPES.join(', ')}; at most ${MAX_EXECUTION_IDS} executionIds.`,
      ].join(' '),
      license: { name: 'Apache-2.0' },
    },
    defaultContentType: 'application/avro',
    servers: {
      kafka: { host: '{brokers}', protocol: 'kafka', variables: { brokers: { default: 'localhost:9092' } } },
    },
    channels,
    operations,
  };
  return `# Generated from schemas/ and src/kafka/admin/topic-specs.ts by \`make docs\`: do not edit by hand.\n${stringify(document, { lineWidth: 110, aliasDuplicateObjects: false })}`;
}

const avro = (file: string) => ({ schemaFormat: AVRO, schema: { $ref: `./${file}` } });

function readAll(kind: 'events' | 'commands'): Schema[] {
  return readSchemaFiles(undefined, kind).map(({ name: file, text: json }) => {
    const { topic, name, doc } = JSON.parse(json);
    return { file, topic, name, doc };
  });
}

/** A topic's settings as `hookline topics apply` makes them by default, under the bindings' names for them. */
function topicConfigs(events: readonly Schema[]): Map<string, object> {
  const specs = topicSpecs({
    prefix: PREFIX,
    eventTopics: events.map(({ topic }) => topic),
    commandTopics: [`${PREFIX}.${OWN_TOPICS.commands}`],
    partitions: 6,
    replicationFactor: 3,
    maxRecordBytes: 95_000_000,
    minInsyncReplicas: 2,
  });
  return new Map(
    specs.map(({ name, config }) => [
      name.slice(PREFIX.length + 1),
      {
        'cleanup.policy': [config['cleanup.policy']],
        ...(config['max.message.bytes'] && { 'max.message.bytes': Number(config['max.message.bytes']) }),
      },
    ]),
  );
}

function deadLetterHeaders() {
  const properties = Object.values(DEAD_LETTER_HEADERS).map((name) => [name, { type: 'string' }]);
  return {
    type: 'object',
    required: [DEAD_LETTER_HEADERS.stage, DEAD_LETTER_HEADERS.code],
    properties: Object.fromEntries(properties),
  };
}
