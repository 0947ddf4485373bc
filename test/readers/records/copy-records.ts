import { createTopic } from '../../support/create-topic.ts';
import { readTopic, testKafka } from '../../support/topic-reader.ts';
import type { RecordsPlace } from './fill-topics.ts';

/** Copies records of these keys, in this order, byte for byte, to a new topic of one partition. */
export async function copyRecords(
  { brokers, topics }: RecordsPlace,
  from: string,
  keys: readonly string[],
  to: string,
): Promise<void> {
  const env = { KAFKA_BROKERS: brokers };
  const seen = await readTopic(env, from, topics[from] ?? 1, { values: 'raw' });
  const messages = keys.map((wanted) => {
    const found = seen.find(({ key }) => key === wanted);
    if (!found) throw new Error(`${from} has no record ${wanted}`);
    return { key: wanted, value: found.value };
  });
  const kafka = testKafka(env);
  const admin = kafka.admin();
  const producer = kafka.producer();
  await Promise.all([admin.connect(), producer.connect()]);
  try {
    await createTopic(admin, { topic: to, numPartitions: 1, replicationFactor: 1 });
    await producer.send({ topic: to, messages });
  } finally {
    await Promise.all([admin.disconnect(), producer.disconnect()]);
  }
}
