import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import avro from 'avsc';
import { ROOT } from '../../support/source-tree.ts';
import { testKafka } from '../../support/topic-reader.ts';
import type { Fixture } from '../../support/topics-fixture.ts';
import { TOPICS, type Topic } from './cells.ts';
import { type Json, type RecordSchema, typedFields } from './expected-value.ts';
import { fullMessage, smallMessage } from './messages.ts';

/** The schemas of Hookline 0.1.0. */
export const OLD_SCHEMAS = join(ROOT, 'test/vectors/schemas-0.1');

export const readSchema = (folder: string, topic: Topic): RecordSchema =>
  JSON.parse(readFileSync(join(folder, `events/${topic}.avsc`), 'utf8'));

/** Registers the schemas of 0.1.0 as its tool did: today's cannot read these files. */
export async function registerOldSchemas(fixture: Fixture): Promise<Map<Topic, number>> {
  const ids = new Map<Topic, number>();
  for (const topic of TOPICS) {
    const subject = `${fixture.topic(topic)}-value`;
    const schema = JSON.stringify(readSchema(OLD_SCHEMAS, topic));
    await callRegistry(fixture, 'PUT', `/config/${subject}`, { compatibility: 'FULL_TRANSITIVE' });
    const { id } = await callRegistry(fixture, 'POST', `/subjects/${subject}/versions`, { schema });
    ids.set(topic, Number(id));
  }
  return ids;
}

async function callRegistry(
  { env }: Fixture,
  method: string,
  path: string,
  body: unknown,
): Promise<Record<string, unknown>> {
  const response = await fetch(`${env.SCHEMA_REGISTRY_URL}${path}`, {
    method,
    headers: { 'content-type': 'application/vnd.schemaregistry.v1+json' },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as Record<string, unknown>;
}

export type OldRecord = { topic: Topic; key: string; value: { [name: string]: Json } };

/** Writes records of every topic as Hookline 0.1.0 did, and gives what they hold; `source` is the message. */
export async function writeOldRecords(
  fixture: Fixture,
  ids: ReadonlyMap<Topic, number>,
  subscription: string,
): Promise<OldRecord[]> {
  const records = TOPICS.flatMap((topic) => [
    oldRecord(topic, '0.1-full', fullMessage(topic, '0.1-full'), subscription),
    oldRecord(topic, '0.1-small', smallMessage(topic, '0.1-small'), subscription),
  ]);
  const producer = testKafka(fixture.env).producer();
  await producer.connect();
  try {
    for (const { topic, key, value } of records)
      await producer.send({
        topic: fixture.topic(topic),
        messages: [{ key, value: encode(topic, ids.get(topic) ?? 0, value), headers: headersOf(value) }],
      });
  } finally {
    await producer.disconnect();
  }
  return records;
}

function oldRecord(topic: Topic, key: string, message: string, subscription: string): OldRecord {
  const { type = null, ...typed } = typedFields(readSchema(OLD_SCHEMAS, topic), JSON.parse(message));
  const envelope = { eventId: `${topic}-${key}`, type, entityId: key, subscription };
  return { topic, key, value: { ...envelope, receivedAt: 1_795_245_881_505, source: message, ...typed } };
}

const headersOf = ({ eventId, receivedAt }: OldRecord['value']) => ({
  ce_id: String(eventId),
  ce_time: new Date(Number(receivedAt)).toISOString(),
});

/** The registry's wire format: a zero byte, the schema's id, the record. */
function encode(topic: Topic, id: number, value: OldRecord['value']): Buffer {
  const type = avro.Type.forSchema(readSchema(OLD_SCHEMAS, topic) as unknown as avro.Schema, {
    wrapUnions: 'never',
  });
  const head = Buffer.alloc(5);
  head.writeInt32BE(id, 1);
  return Buffer.concat([head, type.toBuffer(value)]);
}
