/** kafkajs and its registry client read all topics at their default settings, and print each record as a line of JSON. */
import { createHash, randomUUID } from 'node:crypto';
import { SchemaRegistry } from '@kafkajs/confluent-schema-registry';
import kafkajs from 'kafkajs';

const { KAFKA_BROKERS = '', SCHEMA_REGISTRY_URL = '', BODY_STORE_ENDPOINT = '', TOPICS = '' } = process.env;

type Event = { source: string | null; sourceRef?: { uri: string; bytes: number; sha256: string } | null };

const topics = TOPICS.split(',');
const kafka = new kafkajs.Kafka({ brokers: KAFKA_BROKERS.split(','), logLevel: kafkajs.logLevel.ERROR });
const registry = new SchemaRegistry({ host: SCHEMA_REGISTRY_URL });

const digestOf = (bytes: Buffer) => ({
  bytes: bytes.length,
  sha256: createHash('sha256').update(bytes).digest('hex'),
});

/** Fetches the message that a record refers to. */
async function fetchObject({ uri, bytes, sha256 }: NonNullable<Event['sourceRef']>) {
  const response = await fetch(`${BODY_STORE_ENDPOINT}/${uri.slice('s3://'.length)}`);
  const digest = digestOf(Buffer.from(await response.arrayBuffer()));
  if (digest.bytes !== bytes || digest.sha256 !== sha256) throw new Error(`${uri} is not what was stored`);
  return digest;
}

/** How many records there are to read, now that nobody writes any more. */
async function countRecords(): Promise<number> {
  const admin = kafka.admin();
  await admin.connect();
  let count = 0;
  for (const topic of topics)
    for (const { high, low } of await admin.fetchTopicOffsets(topic)) count += Number(high) - Number(low);
  await admin.disconnect();
  return count;
}

const count = await countRecords();
const consumer = kafka.consumer({ groupId: randomUUID() });
await consumer.connect();
await consumer.subscribe({ topics, fromBeginning: true });
const { promise: allRead, resolve, reject } = Promise.withResolvers<void>();
let read = 0;
consumer.on(consumer.events.CRASH, ({ payload }) => reject(payload.error));
await consumer.run({
  eachMessage: async ({ topic, partition, message }) => {
    const event = (await registry.decode(message.value as Buffer)) as Event;
    const object = event.sourceRef ? await fetchObject(event.sourceRef) : null;
    const source = event.source === null ? null : digestOf(Buffer.from(event.source));
    const at = { topic, partition, offset: Number(message.offset), key: String(message.key) };
    process.stdout.write(`${JSON.stringify({ ...at, value: { ...event, source }, object })}\n`);
    read += 1;
    if (read === count) resolve();
  },
});
await allRead;
await consumer.disconnect();
