import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { TopicKind } from '../../../src/cli/inspect/describe-record.ts';
import { IndexFile } from '../../../src/console/index/index-file.ts';
import { openIndexedTopic } from '../../../src/console/index/read-topic.ts';
import { RecordIndex } from '../../../src/console/index/record-index.ts';
import { HooklineError } from '../../../src/core/errors.ts';
import { type Clock, systemClock } from '../../../src/runtime/clock.ts';
import { answer, ScriptedTopic } from '../../support/scripted-topic.ts';
import { until } from '../../support/until.ts';

const LARGE = 1024 ** 3;

type SetUp = {
  maxBytes?: number;
  kind?: TopicKind;
  clock?: Clock;
  /** Comes before the answer to which topics there are. */
  before?: () => Promise<void>;
};

function setUp({
  maxBytes = LARGE,
  kind = 'event',
  clock = systemClock,
  before = async () => {},
}: SetUp = {}) {
  const topic = new ScriptedTopic([1, 1]);
  topic.atOnce = 50;
  const append = (partition: number, id: string, count = 1) => {
    for (let n = 0; n < count; n++) {
      topic.append(partition, 'a value');
      const record = topic.logs[partition]?.pop() ?? expect.fail('nothing appended');
      topic.logs[partition]?.push({ ...record, headers: { ce_id: id, ce_source: '/webhooks/eu' } });
    }
  };
  const dir = mkdtempSync(join(tmpdir(), 'hookline-index-'));
  const failures: string[] = [];
  const registry: { fault?: Error } = {};
  const open = () => {
    const file = new IndexFile(dir, LARGE);
    const index = new RecordIndex({
      file,
      openTopic: topic.open,
      clock,
      pollMs: 5,
      maxBytes,
      topics: () => before().then(() => new Map([['t', kind]])),
      async read() {
        if (registry.fault) throw registry.fault;
        return {};
      },
      onFailure: (_, { message }) => failures.push(message),
    });
    let stopped: Promise<void> | undefined;
    const stop = () => (stopped ??= index.stop().then(() => file[Symbol.dispose]()));
    return { index, stop };
  };
  const first = open();
  onTestFinished(async () => {
    await first.stop();
    rmSync(dir, { recursive: true });
  });
  const current = (index: RecordIndex) =>
    until('the index is current', () => {
      const [found] = index.coverage();
      const ends = topic.logs.map((log) => log.length);
      return (
        found?.partitions.length === 2 &&
        found.partitions.every(({ partition, next }) => next === ends[partition])
      );
    });
  return { topic, append, open, failures, registry, current, ...first };
}

it('finds what was written before and after, and says what it covers', async () => {
  const { append, index, current } = setUp();
  append(0, 'a', 3);
  append(1, 'b', 2);
  await current(index);
  append(1, 'a');
  await current(index);
  expect(index.find('a', 10)).toMatchObject([{ topic: 't', count: 4 }]);
  expect(index.find('a', 10)[0]?.latest).toContainEqual(expect.objectContaining({ partition: 1, offset: 2 }));
  expect(index.find('eu', 2)).toMatchObject([{ count: 6, latest: [{}, {}] }]);
  expect(index.find('nothing', 2)).toEqual([]);
  expect(index.coverage()).toMatchObject([
    {
      topic: 't',
      kind: 'event',
      failure: null,
      partitions: [
        { partition: 0, oldest: 0, first: 0, next: 3, end: 3 },
        { partition: 1, oldest: 0, first: 0, next: 3, end: 3 },
      ],
    },
  ]);
});

it('goes on where another run of it has ended', async () => {
  const { topic, append, open, index, stop, current } = setUp();
  append(0, 'a', 3);
  await current(index);
  await stop();
  const asked: bigint[] = [];
  const plain = topic.open;
  topic.open = () => {
    const fetcher = plain();
    const fetch: typeof fetcher.fetch = (node, from) => {
      asked.push(...from.values());
      return fetcher.fetch(node, from);
    };
    return { ...fetcher, fetch };
  };
  append(0, 'b');
  const second = open();
  onTestFinished(() => second.stop());
  await current(second.index);
  expect(asked).toEqual([3n]);
  expect(second.index.find('a', 1)).toMatchObject([{ count: 3 }]);
  expect(second.index.find('b', 1)).toMatchObject([{ count: 1 }]);
  await second.stop();
});

it('covers the latest records of a topic that is larger than it may become', async () => {
  const { append, index, current } = setUp({ maxBytes: 100 * 20 });
  append(0, 'a', 30);
  append(1, 'b', 5);
  await current(index);
  expect(index.coverage()[0]?.partitions).toMatchObject([
    { oldest: 0, first: 20, next: 30 },
    { oldest: 0, first: 0, next: 5 },
  ]);
  expect(index.find('a', 100)).toMatchObject([{ count: 10 }]);
});

it.each([
  ['event', 60_000, 600],
  ['command', 60_000, 600],
  ['state', 1_200, 12],
] as const)(
  'reads no more of a hundred partitions before the next topic has its turn: %s',
  async (kind, all, of) => {
    const topic = new ScriptedTopic(Array.from({ length: 100 }, () => 1));
    topic.atOnce = 1_000;
    for (const partition of topic.logs.keys())
      topic.append(partition, ...Array.from({ length: 700 }, () => 'a'));
    const dir = mkdtempSync(join(tmpdir(), 'hookline-index-'));
    using file = new IndexFile(dir, LARGE);
    const deps = { openTopic: topic.open, clock: systemClock, file, maxRecords: 1_000_000 };
    const indexed = await openIndexedTopic({ ...deps, read: async () => ({}) }, 't', kind);
    onTestFinished(async () => {
      await indexed.stop();
      rmSync(dir, { recursive: true });
    });
    expect(await indexed.readOn()).toBe(true);
    const read = indexed.coverage.map(({ next }) => next);
    expect([read[0], read.reduce((sum, next) => sum + next)]).toEqual([of, all]);
  },
);

it('says why it waits, and goes on', async () => {
  const { topic, append, index, failures, current } = setUp();
  await current(index);
  topic.failures.set(1, [answer('UNKNOWN_SERVER_ERROR')]);
  append(0, 'a');
  await current(index);
  expect(index.find('a', 1)).toHaveLength(1);
  expect(index.coverage()[0]?.failure).toBeNull();
  expect(failures).toEqual([]);
});

it('does not call complete what Kafka has not answered about, and does so again when it answers', async () => {
  const hanging = Promise.withResolvers<void>();
  let ahead = 0;
  let asked = 0;
  const clock = { ...systemClock, now: () => systemClock.now() + ahead };
  const before = async () => {
    if (asked++ > 0) await hanging.promise;
  };
  const { index, current } = setUp({ clock, before });
  await current(index);
  expect(index.coverage()[0]?.failure).toBeNull();
  ahead = 60_000;
  await until(
    'it is not known',
    () => index.coverage()[0]?.failure?.startsWith('not read for 15 s') === true,
  );
  hanging.resolve();
  await until('it is known again', () => index.coverage()[0]?.failure === null);
});

it('says why no topic is known, until one is', async () => {
  let isDown = true;
  const before = async () => {
    if (isDown) throw new HooklineError('KAFKA_UNAVAILABLE');
  };
  const { index, current } = setUp({ before });
  await until('the brokers cannot be reached', () => index.failure === 'the brokers cannot be reached');
  isDown = false;
  await current(index);
  expect(index.failure).toBeNull();
});

/** Records of the state, each of an epoch. */
function appendState(topic: ScriptedTopic, ...records: readonly (readonly [ref: string, epoch: number])[]) {
  for (const [ref, epoch] of records) {
    topic.append(0, ref.startsWith('#') ? `${epoch}` : '\0');
    const record = topic.logs[0]?.pop() ?? expect.fail('nothing appended');
    topic.logs[0]?.push({ ...record, key: Buffer.from(ref), headers: { 'hookline.epoch': `${epoch}` } });
  }
}

it('says which records of the state came late, also of those that wait for the registry first', async () => {
  const { topic, index, registry, failures, current } = setUp({ kind: 'state' });
  registry.fault = new HooklineError('REGISTRY_UNAVAILABLE');
  appendState(topic, ['eu', 1], ['#epoch', 2], ['us', 2], ['late', 1]);
  await until('the registry does not answer', () => failures.length > 0);
  delete registry.fault;
  await current(index);
  const isLate = (ref: string) => index.find(ref, 1)[0]?.latest[0]?.isLate;
  expect(['eu', 'us', 'late'].map(isLate)).toEqual([false, false, true]);
});

it('judges the state anew where its topic was deleted and created anew', async () => {
  let skipped = 0;
  const clock = { ...systemClock, now: () => systemClock.now() + skipped };
  const { topic, index, current } = setUp({ kind: 'state', clock });
  appendState(topic, ['#epoch', 7], ['eu', 7], ['us', 7]);
  await current(index);
  topic.logs[0] = [];
  topic.topicId = 'second';
  appendState(topic, ['#epoch', 1], ['eu', 1]);
  skipped = 31_000;
  const found = await until('the new one is indexed', () => {
    const [hits] = index.find('eu', 1);
    return index.find('us', 1).length === 0 && hits?.latest[0]?.offset === 1 && hits;
  });
  expect(found.latest).toMatchObject([{ offset: 1, isLate: false }]);
});
