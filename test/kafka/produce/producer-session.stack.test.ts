import { randomUUID } from 'node:crypto';
import { Admin } from '@platformatic/kafka';
import kafkajs from 'kafkajs';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { UNOBSERVED } from '../../../src/kafka/open-kafka.ts';
import { openProducerSession } from '../../../src/kafka/produce/producer-session.ts';
import { Publisher } from '../../../src/kafka/produce/publisher.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { createTopic } from '../../support/create-topic.ts';
import { until } from '../../support/until.ts';

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
  const session = openProducerSession(connection, { clientId: 'test', rotation: 0, clock: systemClock });
  const sent = (mayBegin: () => boolean) =>
    session.send(
      { topic, partition: 0, records: [recordOf('v')], bytes: 0, isAlone: true, mayBegin },
      { partitions: 1 },
    );
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

it('batches that share a request have each a fate of their own', async () => {
  const shared = `shared-${randomUUID()}`;
  const configEntries = [{ name: 'max.message.bytes', value: '10000' }];
  await createTopic(admin, { topic: shared, numPartitions: 3, replicationFactor: 1, configEntries });
  const session = openProducerSession(connection, { clientId: 'test', rotation: 0, clock: systemClock });
  const sent = (partition: number, values: readonly string[]) => {
    const batch = { topic: shared, partition, records: values.map(recordOf), bytes: 0, isAlone: false };
    return session.send({ ...batch, mayBegin: () => true }, { partitions: 3 });
  };
  try {
    // The broker may know of the topic a moment later than it tells of it.
    for (const partition of [0, 1, 2]) {
      await until(`partition ${partition} takes batches`, () =>
        sent(partition, ['before']).then(
          () => true,
          () => false,
        ),
      );
    }
    const fates = await Promise.allSettled([
      sent(0, ['a', 'b']),
      sent(1, ['c']),
      sent(2, ['x'.repeat(20_000)]),
    ]);
    expect(fates).toMatchObject([
      { status: 'fulfilled', value: 1n },
      { status: 'fulfilled', value: 1n },
      { status: 'rejected', reason: { outcome: 'split', message: 'MESSAGE_TOO_LARGE' } },
    ]);
    const ends = await admin.fetchTopicOffsets(shared);
    expect(ends.toSorted((a, b) => a.partition - b.partition).map(({ high }) => Number(high))).toEqual([
      3, 2, 1,
    ]);
  } finally {
    session.destroy();
    await admin.deleteTopics({ topics: [shared] });
  }
});

it('a record that was given up while its leader was looked up is never written', async () => {
  const lookedUp = Promise.withResolvers<void>();
  const publisher = new Publisher({
    clock: systemClock,
    openSession: (rotation) => {
      const session = openProducerSession(connection, { clientId: 'test', rotation, clock: systemClock });
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

it.each([
  ['at once', 0],
  // Then it asks who leads the partition before.
  ['seconds later', 2_600],
])(
  'a client that has used up its quota is told so when it sends %s, and not that the brokers cannot be reached',
  async (_, ms) => {
    const clientId = `throttled-${randomUUID()}`;
    const quotas = new Admin({ clientId: 'quotas', bootstrapBrokers: [...connection.brokers] });
    const entities = [{ entityType: 'client-id', entityName: clientId }] as const;
    const ops = [{ key: 'producer_byte_rate', value: 2_000, remove: false }] as const;
    await quotas.alterClientQuotas({ entries: [{ entities: [...entities], ops: [...ops] }] });
    const troubles: (string | null)[] = [];
    const publisher = new Publisher({
      openSession: (rotation) => openProducerSession(connection, { clientId, rotation, clock: systemClock }),
      backlogBytes: 1_000_000,
      clock: systemClock,
      observer: { ...UNOBSERVED, troubleChanged: (_, why) => troubles.push(why) },
    });
    try {
      const key = Buffer.from('k');
      const headers = new Map();
      // A broker may know of its quota a little later: one that comes before then is not held up.
      for (let n = 0; n < 2 || troubles.length === 0; n++) {
        await publisher.publish({ topic, key, value: Buffer.alloc(60_000), headers }, 60_000);
        if (n === 0) await systemClock.sleep(ms);
      }
      const why = expect.stringMatching(/the brokers throttle this client: its quota .* is used up/);
      expect(troubles).toEqual([why, null]);
    } finally {
      await Promise.all([publisher.stop(), quotas.close()]);
    }
  },
);
