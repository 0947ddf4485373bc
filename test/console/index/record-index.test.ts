import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { IndexFile } from '../../../src/console/index/index-file.ts';
import { RecordIndex } from '../../../src/console/index/record-index.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { answer, ScriptedTopic } from '../../support/scripted-topic.ts';
import { until } from '../../support/until.ts';

const LARGE = 1024 ** 3;

function setUp({ maxBytes = LARGE, kind = 'event' as const } = {}) {
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
  const open = () => {
    const file = new IndexFile(dir, LARGE);
    const index = new RecordIndex({
      ...{ file, openTopic: topic.open, clock: systemClock, pollMs: 5, maxBytes },
      topics: async () => new Map([['t', kind]]),
      read: () => Promise.reject(new Error('nothing is decoded')),
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
  return { topic, append, open, failures, current, ...first };
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
      ...{ topic: 't', kind: 'event', failure: null },
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
  const { append, index, current } = setUp({ maxBytes: 80 * 20 });
  append(0, 'a', 30);
  append(1, 'b', 5);
  await current(index);
  expect(index.coverage()[0]?.partitions).toMatchObject([
    { oldest: 0, first: 20, next: 30 },
    { oldest: 0, first: 0, next: 5 },
  ]);
  expect(index.find('a', 100)).toMatchObject([{ count: 10 }]);
});

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
