import { randomUUID } from 'node:crypto';
import kafkajs, { Partitioners } from 'kafkajs';
import { expect, inject, it, onTestFinished } from 'vitest';
import '../../../src/kafka/connect/client-patches.ts';
import { readInGroup } from '../../../src/kafka/consume/group-reader.ts';
import { singleWorkerAssigner } from '../../../src/kafka/consume/single-worker-assigner.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { createTopic } from '../../support/create-topic.ts';
import { openTopicAt } from '../../support/open-topic.ts';
import { testKafka } from '../../support/topic-reader.ts';
import { until } from '../../support/until.ts';

async function open() {
  const env = { KAFKA_BROKERS: inject('brokers').join(',') };
  const topic = `group-${randomUUID()}`;
  const kafka = testKafka(env);
  const admin = kafka.admin();
  await admin.connect();
  onTestFinished(() => admin.disconnect());
  await createTopic(admin, { topic, numPartitions: 1 });
  const producer = kafka.producer({
    createPartitioner: Partitioners.DefaultPartitioner,
    transactionalId: topic,
    idempotent: true,
    maxInFlightRequests: 1,
  });
  await producer.connect();
  onTestFinished(() => producer.disconnect());
  const seen: string[] = [];
  const fatal: Error[] = [];
  const recreated: string[] = [];
  const reader = await readInGroup({
    kafka,
    groupId: topic,
    topics: [topic],
    sessionTimeoutMs: 6_000,
    clock: systemClock,
    keysOf: async () => [],
    handle: async ({ value }) => void seen.push(`${value}`),
    openTopic: openTopicAt(inject('brokers')),
    onError() {},
    onWorking() {},
    onRefused() {},
    onInterrupted() {},
    onRecreated: (name) => recreated.push(name),
    onFatal: (error) => fatal.push(error),
  });
  onTestFinished(() => reader.stop());
  /** In a transaction. */
  const send = async (values: readonly string[], ends: 'commit' | 'abort' = 'commit') => {
    const transaction = await producer.transaction();
    await transaction.send({ topic, messages: values.map((value) => ({ value })) });
    await transaction[ends]();
  };
  const committed = async () =>
    (await admin.fetchOffsets({ groupId: topic, topics: [topic] }))[0]?.partitions[0]?.offset;
  return { topic, admin, seen, fatal, recreated, send, committed };
}

const LONG = { timeout: 60_000 };

it(
  'a topic that is deleted, and created anew with more records than were read of the first, is read from its beginning',
  LONG,
  async () => {
    const { topic, admin, seen, fatal, recreated, send, committed } = await open();
    await send(['a', 'b', 'c']);
    await until('they are committed', async () => (await committed()) === '4');
    await admin.deleteTopics({ topics: [topic] });
    await createTopic(admin, { topic, numPartitions: 1 });
    const later = ['d', 'e', 'f', 'g', 'h', 'i', 'j', 'k'];
    await send(later);
    await until('those of the new one are handled', () => later.every((one) => seen.includes(one)), 30_000);
    await until('it is seen that the topic is another one', () => recreated.length > 0);
    await until('they are committed', async () => (await committed()) === '9');
    expect([recreated, fatal]).toEqual([[topic], []]);
  },
);

it('a topic that is deleted and created anew is read from its beginning', LONG, async () => {
  const { topic, admin, seen, fatal, send, committed } = await open();
  await send(['a', 'b', 'c', 'd']);
  await until('the first four are handled', () => seen.length === 4);
  await until('they are committed', async () => (await committed()) === '5');
  await admin.deleteTopics({ topics: [topic] });
  await createTopic(admin, { topic, numPartitions: 1 });
  await send(['e', 'f']);
  await until('those of the new one are handled', () => seen.length === 6, 30_000);
  // It is seen twice that the topic is another one: by its end, and by its id.
  expect([...new Set(seen)]).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
  await until('they are committed', async () => (await committed()) === '3');
  expect(fatal).toEqual([]);
});

it('nothing seems to wait behind transactions, also behind one that was aborted', LONG, async () => {
  const { seen, fatal, send, committed } = await open();
  await send(['a', 'b']);
  await until('all is committed', async () => (await committed()) === '3');
  await send(['c'], 'abort');
  await until('what was aborted too', async () => (await committed()) === '5');
  await send(['d']);
  await until('and what comes then', async () => (await committed()) === '7');
  expect([seen, fatal]).toEqual([['a', 'b', 'd'], []]);
});

it(
  'a group whose leader ended while it joined is joined once: its answer comes when the session of the leader ends',
  LONG,
  async () => {
    const brokers = [...inject('brokers')];
    const groupId = `group-${randomUUID()}`;
    const kafka = new kafkajs.Kafka({
      brokers,
      logLevel: kafkajs.logLevel.NOTHING,
      requestTimeout: 5_000,
      enforceRequestTimeout: true,
    });
    const admin = kafka.admin();
    await admin.connect();
    onTestFinished(() => admin.disconnect());
    await createTopic(admin, { topic: groupId, numPartitions: 1 });
    // As the leader of the second generation it never says what is assigned.
    let assigned = 0;
    const assigner: kafkajs.PartitionAssigner = (config) => {
      const real = singleWorkerAssigner(() => 0)(config);
      return { ...real, assign: (group) => (++assigned > 1 ? new Promise(() => {}) : real.assign(group)) };
    };
    const leader = kafka.consumer({
      groupId,
      partitionAssigners: [assigner],
      sessionTimeout: 8_000,
      heartbeatInterval: 500,
    });
    await leader.connect();
    onTestFinished(() => void leader.disconnect());
    const joined = new Promise((resolve) => leader.on(leader.events.GROUP_JOIN, resolve));
    await leader.subscribe({ topics: [groupId] });
    await leader.run({ autoCommit: false, eachMessage: async () => {} });
    await joined;
    let isWorking = false;
    let mostMembers = 0;
    const reading = readInGroup({
      kafka,
      groupId,
      topics: [groupId],
      sessionTimeoutMs: 8_000,
      clock: systemClock,
      keysOf: async () => [],
      handle: async () => {},
      openTopic: openTopicAt(brokers),
      onError() {},
      onWorking: (lease) => {
        isWorking = lease !== null;
      },
      onRefused() {},
      onInterrupted() {},
      onRecreated() {},
      onFatal() {},
    });
    onTestFinished(() => reading.then((reader) => reader.stop()));
    await until(
      'it works',
      async () => {
        const { groups } = await admin.describeGroups([groupId]);
        mostMembers = Math.max(mostMembers, groups[0]?.members.length ?? 0);
        return isWorking;
      },
      30_000,
    );
    await expect(reading).resolves.toBeDefined();
    expect([assigned, mostMembers]).toEqual([2, 2]);
  },
);
