import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import type { Stack } from '../stack/stack.ts';
import { startStack } from '../stack/start-stack.ts';
import { cli } from '../support/cli.ts';
import { ReceiverFixture } from '../support/receiver-fixture.ts';
import { postSigned } from '../support/sign.ts';
import { setTopicConfig, untilTopicHas } from '../support/topic-config.ts';
import { asAdmin, testKafka } from '../support/topic-reader.ts';
import { until } from '../support/until.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const BY_WRITER = { 'message.timestamp.type': 'CreateTime' };
const SHORT = { 'retention.ms': String(HOUR_MS) };
const BY_BROKER = { 'message.timestamp.type': 'LogAppendTime' };

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({
    env: { ...process.env, KAFKA_BROKERS: undefined, SCHEMA_REGISTRY_URL: undefined },
    way: 'jvm',
    withRegistry: false,
    shortLived: true,
    kafka: { properties: { 'log.retention.check.interval.ms': 500, 'log.initial.task.delay.ms': 500 } },
  });
});
afterAll(() => stack?.stop());

/** What Node loads first, so that all threads of a process have a clock that is wrong by so much. */
const wrongBy = (ms: number) => ({
  NODE_OPTIONS: `--import=data:text/javascript,const${encodeURIComponent(` now = Date.now; Date.now = () => now() + ${ms};`)}`,
});

const receiverWith = (clockMs: number) =>
  ReceiverFixture.make({ brokers: stack.brokers, registryUrl: inject('registryUrl') }, wrongBy(clockMs));

async function post(receiver: ReceiverFixture, message: Record<string, unknown>, times = 1): Promise<void> {
  for (let n = 0; n < times; n++) {
    const body = JSON.stringify({ entityId: 'e', ...message, n });
    const { status, text } = await postSigned(`${receiver.ingress.url}/webhooks/ledger-eu`, receiver, body);
    expect([status, text]).toEqual([200, expect.stringContaining('"stored":"kafka"')]);
  }
}

/** How many records a topic still has, and how many were deleted. */
async function countOf({ fixture }: ReceiverFixture, name: string) {
  const offsets = await asAdmin(fixture.env, (admin) => admin.fetchTopicOffsets(fixture.topic(name)));
  const sum = (of: 'low' | 'high') => offsets.reduce((total, one) => total + Number(one[of]), 0);
  return { left: sum('high') - sum('low'), deleted: sum('low') };
}

/** Returns when the brokers have looked for records to delete in every topic. */
async function untilRetentionWasEnforced(receiver: ReceiverFixture, witness: string): Promise<void> {
  // Within one round a topic's turn may come before or after that of the witness: two whole ones are between three deletions.
  for (let n = 1; n <= 3; n++) {
    await post(receiver, { type: witness });
    await until(
      `record ${n} is deleted`,
      async () => (await countOf(receiver, witness)).deleted >= n,
      // Before Kafka 3.8 brokers look for the first time after 30 s, whatever they are told.
      45_000,
    );
  }
}

it('what was acknowledged stays in topics that apply made, though the clock of ingress is weeks behind', async () => {
  // Longer than any of these topics keeps records.
  await using receiver = await receiverWith(-40 * DAY_MS);
  await post(receiver, { type: 'payment-status' }, 2);
  await post(receiver, { type: 'nobody-knows-it' });
  await postSigned(`${receiver.ingress.url}/webhooks/ledger-eu`, receiver, 'no JSON');
  // Somebody else's topic, or one that an earlier version made.
  await setTopicConfig(receiver.fixture.env, receiver.fixture.topic('collection-status'), BY_WRITER);
  await untilRetentionWasEnforced(receiver, 'collection-status');
  expect(await countOf(receiver, 'payment-status')).toEqual({ left: 2, deleted: 0 });
  expect(await countOf(receiver, 'unclassified')).toEqual({ left: 1, deleted: 0 });
  expect(await countOf(receiver, 'dead-letter')).toEqual({ left: 1, deleted: 0 });
});

it('apply gives it to a topic that exists: what is there keeps its time, and stays with what comes', async () => {
  await using receiver = await receiverWith(-2 * DAY_MS);
  const { env } = receiver.fixture;
  const topic = receiver.fixture.topic('payment-status');
  await setTopicConfig(env, topic, { ...BY_WRITER, 'retention.ms': '-1' });
  await setTopicConfig(env, receiver.fixture.topic('collection-status'), { ...BY_WRITER, ...SHORT });
  await post(receiver, { type: 'payment-status' });
  const { exitCode, out } = await cli(env, 'topics', 'plan', '--topic', topic);
  expect([exitCode, out]).toEqual([
    1,
    expect.stringContaining('message.timestamp.type: CreateTime -> LogAppendTime'),
  ]);
  expect((await cli(env, 'topics', 'apply', '--topic', topic)).exitCode).toBe(0);
  await untilTopicHas(env, topic, { ...BY_BROKER, 'retention.ms': '-1' });
  await post(receiver, { type: 'payment-status' });
  await setTopicConfig(env, topic, { ...BY_BROKER, ...SHORT });
  await untilRetentionWasEnforced(receiver, 'collection-status');
  // Of one segment: the youngest of its records counts.
  expect(await countOf(receiver, 'payment-status')).toEqual({ left: 2, deleted: 0 });
  const ages = (await timesIn(env, topic)).map((time) => Math.round((Date.now() - time) / DAY_MS));
  expect(ages).toEqual([2, 0]);
});

it('brokers take records of an ingress whose clock is hours fast', async () => {
  await using receiver = await receiverWith(2 * HOUR_MS);
  await post(receiver, { type: 'payment-status' });
});

async function timesIn(env: Record<string, string | undefined>, topic: string): Promise<number[]> {
  const consumer = testKafka(env).consumer({ groupId: 'times' });
  await consumer.connect();
  const times: number[] = [];
  try {
    await consumer.subscribe({ topics: [topic], fromBeginning: true });
    await consumer.run({
      eachMessage: async ({ message }) => void times.push(Number(message.timestamp)),
    });
    await until('both are read', () => times.length >= 2);
    return times;
  } finally {
    await consumer.disconnect();
  }
}
