import { randomUUID } from 'node:crypto';
import { Partitioners } from 'kafkajs';
import { expect, inject, it, onTestFinished } from 'vitest';
import { readInGroup } from '../../../src/kafka/consume/group-reader.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { createTopic } from '../../support/create-topic.ts';
import { testKafka } from '../../support/topic-reader.ts';
import { until } from '../../support/until.ts';

it('a topic that is deleted and created anew is read from its beginning', { timeout: 60_000 }, async () => {
  const env = { KAFKA_BROKERS: inject('brokers').join(',') };
  const topic = `anew-${randomUUID()}`;
  const kafka = testKafka(env);
  const admin = kafka.admin();
  await admin.connect();
  onTestFinished(() => admin.disconnect());
  await createTopic(admin, { topic, numPartitions: 1 });
  const producer = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner });
  await producer.connect();
  onTestFinished(() => producer.disconnect());
  const send = (...values: string[]) =>
    producer.send({ topic, messages: values.map((value) => ({ value })) });
  const seen: string[] = [];
  const fatal: Error[] = [];
  const reader = await readInGroup({
    ...{ kafka, groupId: topic, topics: [topic], sessionTimeoutMs: 6_000, clock: systemClock },
    keysOf: async () => [],
    handle: async ({ value }) => void seen.push(`${value}`),
    ...{ onError() {}, onWorking() {}, onRefused() {} },
    onFatal: (error) => fatal.push(error),
  });
  onTestFinished(() => reader.stop());
  await send('a', 'b', 'c', 'd');
  await until('the first four are handled', () => seen.length === 4);
  const committed = async () =>
    (await admin.fetchOffsets({ groupId: topic, topics: [topic] }))[0]?.partitions[0]?.offset;
  await until('they are committed', async () => (await committed()) === '4');
  await admin.deleteTopics({ topics: [topic] });
  await createTopic(admin, { topic, numPartitions: 1 });
  await send('e', 'f');
  await until('those of the new one are handled', () => seen.length === 6, 30_000);
  expect(seen).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
  await until('they are committed', async () => (await committed()) === '2');
  expect(fatal).toEqual([]);
});
