import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { readProbeFile, readSchemaFiles } from '../../../src/avro/schema-files.ts';
import { COMMAND_TYPES, MAX_EXECUTION_IDS } from '../../../src/core/command.ts';
import { OWN_TOPICS } from '../../../src/core/names.ts';
import { DEAD_LETTER_HEADERS } from '../../../src/delivery/dead-letter/dead-letter-headers.ts';
import { topicSpecs } from '../../../src/kafka/admin/topic-specs.ts';
import { CLAIM_HEADER, EPOCH_HEADER, EPOCH_KEY } from '../../../src/subscriptions/state-fence.ts';
import { ROOT } from '../source-tree.ts';

type Schema = { file: string; topic: string; name: string; doc: string };

/** The one version that AsyncAPI names: its generators pass over schemas of others without a word. */
const AVRO = 'application/vnd.apache.avro;version=1.9.0';
const PREFIX = '{prefix}';

/** What stands of a channel beyond its schema: what its key is, and who writes it. */
const KEYS: Readonly<Record<string, string>> = {
  [OWN_TOPICS.commands]: 'The ref. Commands of one ref are carried out in their order.',
  [OWN_TOPICS.results]: 'The commandId; of status DRIFT an id of its own, which no command has.',
  [OWN_TOPICS.subscriptions]: 'The ref; a null value forgets it.',
  [OWN_TOPICS.deadLetter]:
    'Of a webhook the id in hookline.event-id; of a command the key that it had, or its topic-partition-offset.',
};
const EVENT_KEY =
  "The event's entityId, so that events of one entity are in order; the event id where it has none.";

const text = (description: string, more: object = {}) => ({ type: 'string', description, ...more });

const WHOLE = { pattern: '^[0-9]+$' };
const CONTENT_TYPE = text('', { const: 'application/avro' });

/** Of what a redrive stored. */
const REDRIVEN = {
  [DEAD_LETTER_HEADERS.redrivenAt]: text(
    'Of what was a dead-letter record: when it was redriven, in milliseconds since 1970.',
    WHOLE,
  ),
  [DEAD_LETTER_HEADERS.redrivenFrom]: text(
    'Of such a record: its dead-letter record, as topic/partition:offset.',
  ),
  [DEAD_LETTER_HEADERS.redriveCount]: text(
    'Of such a record: 1, and one more for each redrive before that failed and left a new dead-letter record. `--again` does not count.',
    WHOLE,
  ),
};

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
    'content-type': CONTENT_TYPE,
    traceparent: text('W3C trace context to continue.'),
    ...REDRIVEN,
  },
};

const H = DEAD_LETTER_HEADERS;
const DEAD_LETTER_TEXTS: Readonly<Record<DeadLetterHeader, object>> = {
  [H.stage]: text('DECRYPT, PARSE, ENCODE, PRODUCE, SPOOL or COMMAND.'),
  [H.code]: text('A code of the error table.'),
  [H.message]: text('What happened.'),
  [H.topic]: text('Of a command the topic that it came from; of a webhook the topic that did not take it.'),
  [H.partition]: text('Of a command: its partition there.', WHOLE),
  [H.offset]: text('Of a command: its offset there.', WHOLE),
  [H.connector]: text('', { const: 'hookline' }),
  [H.ref]: text('The ref that received it.'),
  [H.subscriptionId]: text("The provider's id of the subscription."),
  [H.mediaType]: text(
    'Absent where Hookline 0.1.0 must not redrive it: of a body that is sealed or in the object store, of stage SPOOL, and of the ref of probes.',
    { enum: ['json', 'octet-stream'] },
  ),
  [H.receivedAt]: text('When it was received, in milliseconds since 1970.', WHOLE),
  [H.eventId]: text(
    'The event id that was answered. Of a body that was not decrypted it is derived from the ciphertext: its event has another one after a redrive.',
    { format: 'uuid' },
  ),
  [H.part]: text('Which part of the body the value is, from 1.', WHOLE),
  [H.parts]: text('How many parts the body has.', WHOLE),
  [H.partsOf]: text('Of several parts: the same in all that were stored together.'),
  [H.bodyUri]: text('Of a body in the object store: the object. The value is empty.'),
  [H.bodyBytes]: text('Size of the object in bytes. Verify it.', WHOLE),
  [H.bodySha256]: text('SHA-256 of the object. Verify it.'),
  [H.sealed]: text('1 where the body is sealed with a key of SEALING_KEY_FILE.'),
  [H.commandId]: text('Of a command that has a result: its commandId.'),
  ...REDRIVEN,
  [H.redriveOf]: text(
    'Which dead-letter record was redriven, as partition:offset; of several parts each, separated by commas.',
  ),
  [H.redrivenTo]: text('What it became.'),
  [H.dismissalOf]: text('Which dead-letter record was dismissed, in the same way.'),
  [H.dismissedReason]: text('Why.'),
  [H.dismissedBy]: text('By whom.'),
  [H.traceparent]: text('W3C trace context of the webhook.'),
};

const headersOf = (required: readonly string[], properties: object) => ({
  type: 'object',
  required,
  properties,
});

const EPOCH = { [EPOCH_HEADER]: text('Epoch of the control process that wrote it.', WHOLE) };

/** Of commands, results and states; a command needs none. */
const COMMAND_HEADERS: Readonly<Record<string, object>> = {
  [OWN_TOPICS.results]: headersOf(['content-type'], { 'content-type': CONTENT_TYPE }),
  [OWN_TOPICS.subscriptions]: headersOf(['content-type'], {
    'content-type': CONTENT_TYPE,
    ...EPOCH,
  }),
};

/** Other records of a topic, by the channel. */
const OTHERS: Readonly<Record<string, object>> = {
  [OWN_TOPICS.subscriptions]: {
    claim: {
      name: 'Claim',
      contentType: 'text/plain',
      headers: headersOf([EPOCH_HEADER, CLAIM_HEADER], {
        ...EPOCH,
        [CLAIM_HEADER]: text('Id of the claim.', { format: 'uuid' }),
      }),
      payload: text('The epoch, in decimal digits: not Avro.', WHOLE),
      bindings: { kafka: { key: text('Of each partition.', { const: EPOCH_KEY }) } },
    },
  },
  [OWN_TOPICS.deadLetter]: {
    'redrive-marker': marker('RedriveMarker', [
      DEAD_LETTER_HEADERS.redriveOf,
      DEAD_LETTER_HEADERS.redrivenTo,
    ]),
    'dismissal-marker': marker('DismissalMarker', [
      DEAD_LETTER_HEADERS.dismissalOf,
      DEAD_LETTER_HEADERS.dismissedReason,
      DEAD_LETTER_HEADERS.dismissedBy,
    ]),
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
      messages: { [id]: { ...message, bindings: { kafka: { key: text(key) } } }, ...OTHERS[topic] },
      bindings: { kafka: { topicConfiguration: configs.get(topic) } },
    };
    operations[`${action}-${id}`] = { action, channel: { $ref: `#/channels/${id}` } };
  };
  for (const { file, topic, name, doc } of events) {
    const message = { name, contentType: 'application/avro', headers: EVENT_HEADERS, payload: avro(file) };
    add({ id: topic, topic, key: EVENT_KEY, description: doc, message }, 'send');
  }
  for (const { file, topic, name, doc } of commands) {
    const headers = COMMAND_HEADERS[topic];
    const message = {
      name,
      contentType: 'application/avro',
      ...(headers && { headers }),
      payload: avro(file),
    };
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
      description: 'Who changed something in the console or looked at sensitive fields, and when.',
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

type DeadLetterHeader = (typeof DEAD_LETTER_HEADERS)[keyof typeof DEAD_LETTER_HEADERS];

/** A record that says what became of a dead-letter record: its value is null. */
function marker(name: string, headers: readonly DeadLetterHeader[]) {
  return {
    name,
    headers: headersOf(headers, Object.fromEntries(headers.map((one) => [one, DEAD_LETTER_TEXTS[one]]))),
    payload: { type: 'null' },
    bindings: { kafka: { key: text('The key of the dead-letter record.') } },
  };
}

function deadLetterHeaders() {
  const ofMarkers = Object.values(OTHERS[OWN_TOPICS.deadLetter] ?? {}).flatMap(
    ({ headers }) => headers.required,
  );
  const properties = Object.entries(DEAD_LETTER_TEXTS).filter(([name]) => !ofMarkers.includes(name));
  return headersOf([DEAD_LETTER_HEADERS.stage, DEAD_LETTER_HEADERS.code], Object.fromEntries(properties));
}
