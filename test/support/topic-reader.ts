import { randomUUID } from 'node:crypto';
import avro from 'avsc';
import kafkajs from 'kafkajs';
import { withAdmin } from '../../src/kafka/admin/describe-topics.ts';
import { reaching } from '../stack/reach-brokers.ts';
import { until } from './until.ts';

/** A record as a consumer sees it, its value decoded where it is Confluent Avro. */
export type SeenRecord = {
  partition: number;
  offset: number;
  key: string | null;
  headers: Record<string, string>;
  value: Buffer | null;
  /** null where the value is no Avro. */
  record: Record<string, unknown> | null;
};

type Env = Readonly<Record<string, string | undefined>>;

/** kafkajs for tests, quiet. */
export function testKafka(env: Env): kafkajs.Kafka {
  const brokers = reaching((env.KAFKA_BROKERS ?? '').split(','));
  return new kafkajs.Kafka({ clientId: 'test', ...brokers, logLevel: kafkajs.logLevel.NOTHING });
}

/** Asks the brokers, or tells them, what an operator would. */
export const asAdmin = <T>(env: Env, work: (admin: kafkajs.Admin) => Promise<T>): Promise<T> =>
  withAdmin(testKafka(env), work);

export type Reading = {
  readonly values?: 'decoded' | 'raw';
  readonly deadlineMs?: number;
  /** Whether what was read so far is enough; else all that the topic holds is read. */
  readonly isEnough?: (seen: readonly SeenRecord[]) => boolean;
};

/**
 * Reads a topic from its beginning until it holds `atLeast` records and all of them are read. It shares no code with
 * src: what Hookline writes is decoded by the schema that the registry has for it. What others wrote is read `raw`: avsc
 * allocates what a record claims.
 */
export async function readTopic(
  env: Env,
  topic: string,
  atLeast: number,
  { values = 'decoded', deadlineMs = 40_000, isEnough }: Reading = {},
): Promise<SeenRecord[]> {
  const kafka = testKafka(env);
  const admin = kafka.admin();
  const consumer = kafka.consumer({
    groupId: `test-${randomUUID()}`,
    maxBytesPerPartition: 64 * 1024 * 1024,
    maxWaitTimeInMs: 100,
  });
  const seen: SeenRecord[] = [];
  /** Compaction leaves gaps between offsets: a partition is read when its last record is. */
  const isRead = ({ partition, low, high }: { partition: number; low: string; high: string }) =>
    low === high || seen.some((one) => one.partition === partition && one.offset === Number(high) - 1);
  await Promise.all([admin.connect(), consumer.connect()]);
  try {
    await consumer.subscribe({ topics: [topic], fromBeginning: true });
    await consumer.run({
      autoCommit: false,
      eachMessage: async ({ partition, message }) => {
        const seenRecord = await toSeen(env, partition, message, values === 'decoded');
        seen.push(seenRecord);
      },
    });
    await until(
      isEnough ? `${topic} holds what is waited for` : `${topic} holds ${atLeast} records`,
      async () => {
        if (isEnough) return isEnough(seen);
        const ends = await admin.fetchTopicOffsets(topic).catch((error: kafkajs.KafkaJSError) => {
          // A partition has just got another leader: kafkajs asks the one before.
          if (!error.retriable) throw error;
        });
        if (!ends) return false;
        const total = ends.reduce((sum, { high, low }) => sum + Number(high) - Number(low), 0);
        return total >= atLeast && ends.every(isRead);
      },
      deadlineMs,
    );
  } finally {
    await consumer.disconnect();
    await admin.disconnect();
  }
  return seen.sort((a, b) => a.partition - b.partition || a.offset - b.offset);
}

async function toSeen(
  env: Env,
  partition: number,
  message: kafkajs.KafkaMessage,
  isDecoded: boolean,
): Promise<SeenRecord> {
  const headers = Object.entries(message.headers ?? {}).map(([name, value]) => [name, String(value)]);
  const { key, value, offset } = message;
  const record = isDecoded && value?.[0] === 0 ? await decode(env, value).catch(() => null) : null;
  return {
    partition,
    offset: Number(offset),
    key: key?.toString() ?? null,
    headers: Object.fromEntries(headers),
    value,
    record,
  };
}

const types = new Map<string, Promise<avro.Type>>();

async function decode({ SCHEMA_REGISTRY_URL: url }: Env, value: Buffer): Promise<Record<string, unknown>> {
  const type = await writerType(String(url), value.readInt32BE(1));
  return JSON.parse(JSON.stringify(type.fromBuffer(value.subarray(5))));
}

/** The schema that a record was written with, as the registry has it; asked for once. */
export function writerType(registryUrl: string, id: number): Promise<avro.Type> {
  const source = `${registryUrl}/schemas/ids/${id}`;
  const type = types.get(source) ?? fetchType(source);
  types.set(source, type);
  return type;
}

async function fetchType(source: string): Promise<avro.Type> {
  const { schema } = (await (await fetch(source)).json()) as { schema: string };
  return avro.Type.forSchema(JSON.parse(schema), { wrapUnions: 'never' });
}
