import { randomUUID } from 'node:crypto';
import { testKafka } from '../../support/topic-reader.ts';
import { until } from '../../support/until.ts';

/** What a topic holds of each entity: the numbers of its events in the order of their first appearance. */
export async function readOrder(broker: string, topic: string): Promise<Map<string, number[]>> {
  const kafka = testKafka({ KAFKA_BROKERS: broker });
  const admin = kafka.admin();
  const consumer = kafka.consumer({ groupId: `order-${randomUUID()}` });
  await Promise.all([admin.connect(), consumer.connect()]);
  const ends = new Map(
    (await admin.fetchTopicOffsets(topic)).map(({ partition, high }) => [partition, Number(high)]),
  );
  const seen = new Map<string, Set<number>>();
  const read = new Map<number, number>();
  try {
    await consumer.subscribe({ topics: [topic], fromBeginning: true });
    await consumer.run({
      autoCommit: false,
      eachBatch: async ({ batch }) => {
        for (const { key, value } of batch.messages) {
          const n = Number(/"n":(\d+)/.exec(value?.toString('latin1') ?? '')?.[1]);
          const entityId = String(key);
          seen.set(entityId, (seen.get(entityId) ?? new Set()).add(n));
        }
        read.set(batch.partition, Number(batch.lastOffset()) + 1);
      },
    });
    await until(
      'the topic is read',
      () => [...ends].every(([partition, end]) => (read.get(partition) ?? 0) >= end),
      300_000,
    );
  } finally {
    await Promise.all([admin.disconnect(), consumer.disconnect()]);
  }
  return new Map([...seen].map(([entityId, numbers]) => [entityId, [...numbers]]));
}
