import { expect, it, onTestFinished } from 'vitest';
import { followTail, readOne, readRecent } from '../../../src/console/events/read-tail.ts';
import { openRanges } from '../../../src/kafka/consume/range-reader.ts';
import { type Clock, systemClock } from '../../../src/runtime/clock.ts';
import { ScriptedTopic } from '../../support/scripted-topic.ts';

/** The real one, but for the pauses between two looks. */
const clock: Clock = {
  ...systemClock,
  sleep: (ms, options) => systemClock.sleep(ms === 1_000 ? 5 : ms, options),
};

async function setUp(partitions = 2) {
  const topic = new ScriptedTopic(Array.from({ length: partitions }, () => 1));
  topic.atOnce = 100;
  let written = 0;
  const append = (partition: number, type = 'a', count = 1) => {
    for (let n = 0; n < count; n++) {
      topic.append(partition, 'a value');
      const record = topic.logs[partition]?.pop() ?? expect.fail('nothing appended');
      topic.logs[partition]?.push({ ...record, headers: { ce_type: type }, timestamp: ++written });
    }
  };
  const deps = { openTopic: topic.open, clock };
  const open = async () => {
    const reader = await openRanges({ ...deps, topic: 't' });
    onTestFinished(() => reader.stop());
    return reader;
  };
  return { topic, append, deps, open };
}

const positions = (records: readonly { partition: number; offset: bigint }[]) =>
  records.map(({ partition, offset }) => `${partition}:${offset}`);

it('reads the latest records of all partitions, the latest first', async () => {
  const { append, open } = await setUp();
  append(0, 'a', 30);
  append(1, 'a', 2);
  append(0);
  const { records, looked, total } = await readRecent(await open(), {}, 4);
  expect(positions(records)).toEqual(['0:30', '1:1', '1:0', '0:29']);
  expect([looked, total]).toEqual([6, 33]);
  expect(await readRecent(await open(), { type: 'b' }, 4)).toEqual({ records: [], looked: 33, total: 33 });
});

it('looks back for what matches, and not further than 5,000 offsets or so', async () => {
  const { append, open } = await setUp();
  append(0, 'old');
  append(0, 'a', 5_400);
  append(1, 'b');
  append(1, 'a', 150);
  expect(positions((await readRecent(await open(), { type: 'b' }, 1)).records)).toEqual(['1:0']);
  const { records, looked, total } = await readRecent(await open(), { type: 'old' }, 1);
  expect(records).toEqual([]);
  expect([looked >= 5_000 && looked <= 5_200, total]).toEqual([true, 5_552]);
});

it.each([
  ['all', {}],
  ['those of a type', { type: 'a' }],
] as const)(
  'reads no more of a thousand partitions, and finds the latest of %s in a busy one',
  async (_, filter) => {
    const { append, open } = await setUp(1_000);
    for (let partition = 0; partition < 1_000; partition++) append(partition, 'a', 10);
    append(7, 'a', 50);
    const { records, looked } = await readRecent(await open(), filter, 20);
    expect(positions(records)).toEqual(Array.from({ length: 20 }, (_, n) => `7:${59 - n}`));
    expect(looked).toBeLessThanOrEqual(5_000);
  },
);

it('reads one record, or says that it is not there', async () => {
  const { topic, append, open } = await setUp();
  append(0, 'a', 3);
  topic.oldest[0] = 1n;
  const reader = await open();
  expect(await readOne(reader, { partition: 0, offset: 2n })).toMatchObject({ offset: 2n });
  for (const [partition, offset] of [
    [0, 0n],
    [0, 3n],
    [5, 0n],
  ] as const)
    expect(await readOne(reader, { partition, offset })).toBeNull();
});

it('follows what comes, says how much it passes over, and ends with its reader', async () => {
  const { append, deps } = await setUp();
  append(0, 'a', 3);
  const stop = new AbortController();
  const news = followTail(deps, 't', { type: 'a' }, stop.signal)[Symbol.asyncIterator]();
  expect((await news.next()).value).toEqual({ records: [], skipped: 0 });
  const first = news.next();
  // Written once it follows: until then it is what was there before.
  const writing = setInterval(() => append(1), 20);
  const { value } = await first.finally(() => clearInterval(writing));
  expect(value.records.length).toBeGreaterThan(0);
  expect(value.records.every(({ partition }: { partition: number }) => partition === 1)).toBe(true);
  append(0, 'b', 250);
  append(0, 'a', 50);
  let shown = 0;
  let skipped = 0;
  while (shown < 50) {
    const next = await news.next();
    shown += next.value.records.filter(({ partition }: { partition: number }) => partition === 0).length;
    skipped += next.value.skipped;
  }
  expect([shown, skipped]).toEqual([50, 200]);
  stop.abort();
  expect((await news.next()).done).toBe(true);
});

it('follows a thousand busy partitions, and reads no more of them at a time than of a few', async () => {
  const { append, deps } = await setUp(1_000);
  const stop = new AbortController();
  const news = followTail(deps, 't', {}, stop.signal)[Symbol.asyncIterator]();
  await news.next();
  const next = news.next();
  for (let partition = 0; partition < 1_000; partition++) append(partition, 'a', 10);
  const { records, skipped } = (await next).value;
  expect([records.length, records.length + skipped]).toEqual([1_000, 10_000]);
  stop.abort();
  await news.next();
});
