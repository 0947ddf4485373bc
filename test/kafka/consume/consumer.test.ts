import { expect, it, vi } from 'vitest';
import type { KafkaClient } from '../../../src/kafka/connect/kafkajs-client.ts';
import { GroupConsumer } from '../../../src/kafka/consume/consumer.ts';
import { manualClock } from '../../support/manual-clock.ts';

type Payload = Record<string, unknown>;

/** A consumer on a client that a test drives: batches, crashes, and how its calls end. */
function open(
  calls: {
    connect?: () => Promise<void>;
    disconnect?: () => Promise<void>;
    cut?: () => void;
    explain?: (error: Error) => Error;
  } = {},
  restarts = false,
) {
  const clock = manualClock();
  const listeners = new Map<string, (event: { payload: Payload }) => void>();
  const config: Payload = {};
  const run: { eachBatch?: (payload: Payload) => Promise<void> } = {};
  const client = {
    events: { CRASH: 'crash', END_BATCH_PROCESS: 'end' },
    on: (name: string, listener: (event: { payload: Payload }) => void) => void listeners.set(name, listener),
    connect: async () => {},
    subscribe: async () => {},
    disconnect: async () => {},
    ...calls,
    run: async (options: object) => void Object.assign(run, options),
  };
  const kafka = {
    consumer: (options: object) => {
      Object.assign(config, options);
      return client;
    },
  } as unknown as KafkaClient;
  const ended: string[] = [];
  const restarted: string[] = [];
  const consumer = new GroupConsumer({
    kafka,
    groupId: 'g',
    clock,
    restarts,
    onEnd: (error: Error) => ended.push(error.message),
    onRestart: (error: Error) => restarted.push(error.message),
  });
  const tell = (name: string, payload: Payload) => listeners.get(name)?.({ payload });
  return { clock, config, run, consumer, ended, restarted, tell };
}

/** A batch of these offsets whose log ends at `last`, on a partition that a seek interrupts after so many records. */
function batchOf(
  offsets: readonly number[],
  staleAfter = Number.POSITIVE_INFINITY,
  last = offsets.at(-1) ?? 0,
) {
  let seen = 0;
  const resolved: string[] = [];
  const heartbeat = vi.fn(async () => {});
  const payload = {
    batch: {
      topic: 't',
      partition: 0,
      lastOffset: () => String(last),
      messages: offsets.map((offset) => ({ offset: String(offset), key: null, value: null, timestamp: '0' })),
    },
    isRunning: () => true,
    isStale: () => seen++ >= staleAfter,
    heartbeat,
    resolveOffset: (offset: string) => resolved.push(offset),
  };
  return { payload, resolved, heartbeat };
}

it('a consumer commits nothing by itself, creates no topic and does not hang with a broker', async () => {
  const { config, run, consumer } = open();
  await consumer.run({ topics: ['t'], onRecord: () => true });
  expect(config).toMatchObject({ allowAutoTopicCreation: false, metadataMaxAge: 3_000, groupId: 'g' });
  expect(run).toMatchObject({ autoCommit: false, eachBatchAutoResolve: false });
});

it('a consumer reports its end once, and none that kafkajs begins anew after', async () => {
  const { ended, tell } = open();
  tell('crash', { restart: true, error: new Error('it passes') });
  expect(ended).toEqual([]);
  for (const restart of [false, false]) tell('crash', { restart, error: new Error('for good') });
  expect(ended).toEqual(['for good']);
});

it('why kafkajs begins a consumer anew is told with the remedy that its client knows', async () => {
  const explain = ({ message }: Error) => new Error(`${message}: check KAFKA_CA_FILE`);
  const { restarted, ended, tell } = open({ explain });
  tell('crash', { restart: true, error: new Error('not trusted') });
  expect([restarted, ended]).toEqual([['not trusted: check KAFKA_CA_FILE'], []]);
});

it('a consumer that has left is not begun anew by kafkajs, whose error came meanwhile', async () => {
  const { config, consumer } = open({}, true);
  const { restartOnFailure } = config.retry as { restartOnFailure(error: Error): Promise<boolean> };
  expect(await restartOnFailure(new Error('passing'))).toBe(true);
  await consumer.leave();
  expect(await restartOnFailure(new Error('passing'))).toBe(false);
});

it('a consumer that could not start has ended, and says why to its caller alone', async () => {
  const { consumer, ended, tell } = open({ connect: () => Promise.reject(new Error('no broker')) });
  await expect(consumer.run({ topics: ['t'], onRecord: () => true })).rejects.toThrow('no broker');
  tell('crash', { restart: false, error: new Error('no broker') });
  expect(ended).toEqual([]);
});

it('a consumer whose brokers are unavailable gives up leaving after five seconds', async () => {
  const { clock, consumer } = open({ disconnect: () => new Promise(() => {}) });
  let hasLeft = false;
  const leaving = consumer.leave().then(() => {
    hasLeft = true;
  });
  await clock.advance(4_999);
  expect(hasLeft).toBe(false);
  await clock.advance(1);
  await leaving;
});

it('records are handed over up to the one that is not taken, or to a seek', async () => {
  const { run, consumer } = open();
  const seen: number[] = [];
  await consumer.run({
    topics: ['t'],
    onRecord: ({ offset }) => {
      if (offset === 7n) return false;
      seen.push(Number(offset));
      return true;
    },
  });
  const whole = batchOf([1, 2]);
  await run.eachBatch?.(whole.payload);
  const refused = batchOf([6, 7, 8]);
  await run.eachBatch?.(refused.payload);
  const interrupted = batchOf([9, 10, 11], 2);
  await run.eachBatch?.(interrupted.payload);
  expect(seen).toEqual([1, 2, 6, 9, 10]);
  expect([whole.resolved, refused.resolved, interrupted.resolved]).toEqual([['1', '2'], ['6'], ['9', '10']]);
});

it('the group hears of a consumer while a record is waited for', async () => {
  const { run, consumer } = open();
  await consumer.run({ topics: ['t'], onRecord: ({ offset }) => offset < 2n || Promise.resolve(true) });
  const { payload, heartbeat } = batchOf([1, 2, 3]);
  await run.eachBatch?.(payload);
  expect(heartbeat).toHaveBeenCalledTimes(2);
});

it.each([
  ['has left', async () => {}],
  ['should have left', () => new Promise<void>(() => {})],
])('a consumer cuts what kafkajs has left open when it %s', async (_, disconnect) => {
  const cut = vi.fn();
  const { consumer, clock } = open({ disconnect, cut });
  const left = consumer.leave();
  await clock.advance(5_000);
  await left;
  expect(cut).toHaveBeenCalledOnce();
});

it('what is behind the records and is none, as the end of a transaction, is told when all were taken', async () => {
  const { run, consumer, tell } = open();
  const passed: bigint[] = [];
  let isFull = false;
  await consumer.run({
    topics: ['t'],
    onRecord: () => !isFull,
    onPassed: (_topic, _partition, next) => passed.push(next),
  });
  await run.eachBatch?.(batchOf([5, 6], undefined, 7).payload);
  await run.eachBatch?.(batchOf([8, 9], 1, 10).payload);
  isFull = true;
  await run.eachBatch?.(batchOf([8, 9], undefined, 10).payload);
  expect(passed).toEqual([8n]);
  // Of one that was aborted nothing is handed over.
  tell('end', { batchSize: 0, topic: 't', partition: 0, lastOffset: '12' });
  tell('end', { batchSize: 2, topic: 't', partition: 0, lastOffset: '15' });
  expect(passed).toEqual([8n, 13n]);
});
