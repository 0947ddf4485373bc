import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { watchLag } from '../../../src/kafka/admin/consumer-lag.ts';
import { createTopic } from '../../support/create-topic.ts';
import { testKafka } from '../../support/topic-reader.ts';
import { until } from '../../support/until.ts';

const topic = `lag-${randomUUID()}`;
const groupId = `${topic}-group`;
const kafka = testKafka({ KAFKA_BROKERS: inject('brokers').join(',') });
const admin = kafka.admin();

beforeAll(async () => {
  await admin.connect();
  await createTopic(admin, { topic, numPartitions: 2 });
  const producer = kafka.producer();
  await producer.connect();
  // The first group of a broker waits until the topic of all groups is there.
  await until('the group has a coordinator', () =>
    admin.fetchOffsets({ groupId, topics: [topic] }).then(
      () => true,
      () => false,
    ),
  );
  const messages = Array.from({ length: 5 }, (_, n) => ({ partition: 1, value: `message ${n}` }));
  await producer.send({ topic, messages });
  await producer.disconnect();
});

afterAll(() => admin.disconnect());

describe("a group's lag", () => {
  it('counts all records before the first commit, and then those after its commits', async () => {
    const lags = new Map<number, number>();
    const failures: unknown[] = [];
    const watch = watchLag({
      kafka,
      groupId,
      topics: [topic],
      intervalMs: 50,
      onLag: (_topic, partition, records) => lags.set(partition, records),
      onFailure: (error) => failures.push(error),
    });
    await until('it is told', () => lags.get(1) === 5 && lags.get(0) === 0);
    await admin.setOffsets({ groupId, topic, partitions: [{ partition: 1, offset: '3' }] });
    await until('the commit is seen', () => lags.get(1) === 2);
    await watch.stop();
    expect(failures).toEqual([]);
  });

  it('of a topic is told while another topic of the group is missing', async () => {
    const missing = `${topic}-missing`;
    await createTopic(admin, { topic: missing, numPartitions: 1 });
    const lags = new Map<string, number>();
    const failures: unknown[] = [];
    const watch = watchLag({
      kafka,
      groupId,
      topics: [missing, topic],
      intervalMs: 50,
      onLag: (of, partition, records) => lags.set(`${of} ${partition}`, records),
      onFailure: (error) => failures.push(error),
    });
    await until('both are told', () => lags.get(`${topic} 1`) === 2 && lags.has(`${missing} 0`));
    await admin.deleteTopics({ topics: [missing] });
    await until('it is missed', () => failures.length > 0, 60_000);
    await admin.setOffsets({ groupId, topic, partitions: [{ partition: 1, offset: '4' }] });
    await until('the commit is seen', () => lags.get(`${topic} 1`) === 1, 60_000);
    await watch.stop();
  });
});
