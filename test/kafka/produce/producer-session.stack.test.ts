import { randomUUID } from 'node:crypto';
import kafkajs from 'kafkajs';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { openProducerSession } from '../../../src/kafka/produce/producer-session.ts';
import { Publisher } from '../../../src/kafka/produce/publisher.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { createTopic } from '../../support/create-topic.ts';

const topic = `late-${randomUUID()}`;
const admin = new kafkajs.Kafka({
  brokers: [...inject('brokers')],
  logLevel: kafkajs.logLevel.NOTHING,
}).admin();
const connection = { brokers: inject('brokers'), tls: undefined, sasl: undefined, loopbackOnly: false };
const recordOf = (value: string) => ({
  key: Buffer.from('k'),
  value: Buffer.from(value),
  headers: new Map([[Buffer.from('a'), Buffer.from('b')]]),
  timestamp: BigInt(Date.now()),
});

beforeAll(async () => {
  await admin.connect();
  await createTopic(admin, { topic, numPartitions: 1, replicationFactor: 1 });
});

afterAll(async () => {
  await admin.deleteTopics({ topics: [topic] });
  await admin.disconnect();
});

const held = async () => (await admin.fetchTopicOffsets(topic)).map(({ high }) => Number(high));

it('a batch may be taken back until its bytes go to the socket: then nothing of it reaches the broker', async () => {
  const session = openProducerSession(connection, 'test', 0);
  const sent = (mayBegin: () => boolean) =>
    session.send({ topic, partition: 0, records: [recordOf('v')], mayBegin }, 1);
  try {
    let looks = 0;
    await expect(sent(() => ++looks < 1)).rejects.toMatchObject({ outcome: 'late' });
    await expect(sent(() => ++looks < 3)).rejects.toMatchObject({ outcome: 'late' });
    expect([looks, await held()]).toEqual([3, [0]]);
    expect(await sent(() => true)).toBe(0n);
  } finally {
    session.destroy();
  }
});

it('a record that was given up while its leader was looked up is never written', async () => {
  const lookedUp = Promise.withResolvers<void>();
  const publisher = new Publisher({
    clock: systemClock,
    openSession: (rotation) => {
      const session = openProducerSession(connection, 'test', rotation);
      const send: typeof session.send = async (...args) => {
        await lookedUp.promise;
        return session.send(...args);
      };
      return { ...session, send };
    },
    backlogBytes: 1e6,
    observer: { attempt() {}, confirmed() {}, sessionOpened() {}, troubleChanged() {} },
  });
  try {
    await publisher.open([topic]);
    const [before = 0] = await held();
    const given = publisher.publish({ ...recordOf('given up'), topic }, 300);
    await expect(given).rejects.toMatchObject({ code: 'PUBLISH_DEADLINE' });
    lookedUp.resolve();
    expect(await publisher.publish({ ...recordOf('later'), topic }, 30_000)).toMatchObject({
      offset: BigInt(before),
    });
  } finally {
    await publisher.stop();
  }
});
