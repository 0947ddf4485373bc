import { expect, it, vi } from 'vitest';
import { openResultLog } from '../../../src/console/results/result-log.ts';
import type { CommandResult } from '../../../src/core/command.ts';
import { HooklineError } from '../../../src/core/errors.ts';
import { systemClock as clock } from '../../../src/runtime/clock.ts';
import { ScriptedTopic } from '../../support/scripted-topic.ts';

const BEFORE = { ref: null, subscriptionId: null, status: 'SUCCEEDED', errorCode: null, message: '' };
const resultOf = (more: Partial<CommandResult>) =>
  JSON.stringify({ commandId: 'c', ...BEFORE, finishedAt: 1, subscriptions: null, drift: null, ...more });
const driftOf = (ref: string, finishedAt: number, errorCode: string | null = 'SUBSCRIPTION_MISSING') =>
  resultOf({ commandId: `d-${ref}-${finishedAt}`, ref, status: 'DRIFT', errorCode, finishedAt });

/** Which partitions have which time is the other way round than the order in which they are read. */
function topicOf(partitions: number, ofEach: number): ScriptedTopic {
  const topic = new ScriptedTopic(Array.from({ length: partitions }, () => 1));
  topic.atOnce = 1_000;
  for (let n = 0; n < ofEach; n++)
    for (let p = 0; p < partitions; p++)
      topic.append(p, resultOf({ commandId: `c-${p}-${n}`, finishedAt: (n + 1) * partitions - p }));
  return topic;
}

const open = (
  topic: ScriptedTopic,
  read = async (value: Buffer) => JSON.parse(value.toString()) as Record<string, unknown>,
) => openResultLog({ openTopic: topic.open, clock, topic: 't', read, onBrokenOff() {} });

type Log = Awaited<ReturnType<typeof open>>;
const driftsOf = (log: Log) => log.drift().map(({ ref }) => ref);

it('holds the latest results of all partitions', async () => {
  const log = await open(topicOf(12, 500));
  expect(log.latest().map(({ finishedAt }) => finishedAt)).toEqual(
    Array.from({ length: 3_000 }, (_, n) => 6_000 - n),
  );
  expect(log.isPartial).toBe(true);
  await log.stop();
});

it('lets go of the oldest for new ones, whatever their partition', async () => {
  const topic = topicOf(6, 500);
  const log = await open(topic);
  for (let n = 0; n < 500; n++) topic.append(5, resultOf({ commandId: `new-${n}`, finishedAt: 3_001 + n }));
  await vi.waitFor(() => expect(log.of('new-499')).toBeDefined(), 10_000);
  expect(log.latest().map(({ finishedAt }) => finishedAt)).toEqual(
    Array.from({ length: 3_000 }, (_, n) => 3_500 - n),
  );
  await log.stop();
});

it('shows drift that has not ended, whatever results came since', async () => {
  const topic = new ScriptedTopic([1]);
  topic.atOnce = 1_000;
  const log = await open(topic);
  topic.append(0, driftOf('eu', 1), driftOf('us', 2));
  for (let n = 0; n < 4_000; n++) topic.append(0, resultOf({ commandId: `c-${n}`, finishedAt: 10 + n }));
  topic.append(0, driftOf('us', 9_000, null));
  await vi.waitFor(() => expect(log.of('c-3999')).toBeDefined(), 10_000);
  await vi.waitFor(() => expect(driftsOf(log)).toEqual(['eu']), 10_000);
  await log.stop();
});

it('finds drift that was reported before the results that are read first', async () => {
  const topic = new ScriptedTopic([1]);
  topic.append(0, driftOf('eu', 1), driftOf('us', 2), driftOf('us', 3, null), driftOf('asia', 4));
  for (let n = 0; n < 500; n++) topic.append(0, resultOf({ commandId: `c-${n}`, finishedAt: 10 + n }));
  topic.append(0, driftOf('asia', 9_000, null));
  topic.atOnce = 100;
  const log = await open(topic);
  await vi.waitFor(() => expect(driftsOf(log)).toEqual(['eu']), 10_000);
  await vi.waitFor(() => expect(log.isDriftPartial).toBe(false), 10_000);
  expect(log.latest()).toHaveLength(500);
  await log.stop();
});

it('reads what the registry had no schema for again, and says that it is missing until then', async () => {
  const topic = new ScriptedTopic([1]);
  topic.append(0, resultOf({ commandId: 'older' }));
  let isThere = false;
  const log = await openResultLog({
    openTopic: topic.open,
    topic: 't',
    onBrokenOff() {},
    clock: { ...clock, sleep: (_, options) => clock.sleep(1, options) },
    read: async (value) => {
      const result = JSON.parse(value.toString());
      if (!isThere && result.commandId !== 'own') throw new HooklineError('REGISTRY_UNAVAILABLE', 'away');
      return result;
    },
  });
  topic.append(0, resultOf({ commandId: 'newer' }), resultOf({ commandId: 'own' }));
  await vi.waitFor(() => expect(log.of('own')).toBeDefined());
  expect([log.isPartial, log.of('older'), log.of('newer')]).toEqual([true, undefined, undefined]);
  isThere = true;
  await vi.waitFor(() => expect([log.of('older'), log.of('newer')]).not.toContain(undefined));
  expect([log.isPartial, log.latest().length]).toEqual([false, 3]);
  await log.stop();
});

it('stops at once while it reads again, as where the registry hangs', async () => {
  const topic = new ScriptedTopic([1]);
  for (let n = 0; n < 500; n++) topic.append(0, resultOf({ commandId: `c-${n}` }));
  let asked = 0;
  let isHanging = false;
  const log = await openResultLog({
    openTopic: topic.open,
    topic: 't',
    onBrokenOff() {},
    clock: { ...clock, sleep: (_, options) => clock.sleep(1, options) },
    read: async () => {
      asked++;
      if (isHanging) await clock.sleep(100);
      throw new HooklineError('REGISTRY_UNAVAILABLE', 'away');
    },
  });
  isHanging = true;
  const before = asked;
  await vi.waitFor(() => expect(asked).toBeGreaterThan(before + 1), 10_000);
  await log.stop();
  expect(asked).toBeLessThan(before + 100);
});

it('reads earlier drift again where that was interrupted', async () => {
  const topic = new ScriptedTopic([1]);
  topic.append(0, driftOf('eu', 1));
  for (let n = 0; n < 500; n++) topic.append(0, resultOf({ commandId: `c-${n}`, finishedAt: 10 + n }));
  topic.atOnce = 500;
  const opened: string[] = [];
  const openTopic = () => {
    const fetcher = topic.open();
    // The third one reads the earlier drift.
    const isLost = opened.push('') === 3;
    return isLost ? { ...fetcher, lookUp: () => Promise.reject(new Error('no broker answers')) } : fetcher;
  };
  const told: string[] = [];
  const log = await openResultLog({
    openTopic,
    topic: 't',
    clock: { ...clock, sleep: () => clock.sleep(1) },
    read: async (value) => JSON.parse(value.toString()),
    onBrokenOff: ({ message }) => void told.push(message),
  });
  await vi.waitFor(() => expect(driftsOf(log)).toEqual(['eu']), 10_000);
  expect(told).toEqual(['no broker answers']);
  await log.stop();
});

it('holds no more values than the brokers answer at once', async () => {
  const topic = topicOf(1, 500);
  topic.atOnce = 10;
  const values = new Set<Buffer>();
  const most: number[] = [];
  const { open: plain } = topic;
  topic.open = () => {
    const fetcher = plain();
    return {
      ...fetcher,
      async fetch(node, from) {
        const fetched = await fetcher.fetch(node, from);
        for (const { value } of fetched.flatMap(({ records }) => records)) if (value) values.add(value);
        most.push(values.size);
        return fetched;
      },
    };
  };
  const log = await open(topic, async (value) => {
    // Slower than an answer, as where the registry is asked for a schema.
    if (values.size === 10) await clock.sleep(1);
    values.delete(value);
    return JSON.parse(value.toString());
  });
  expect(Math.max(...most)).toBe(10);
  expect(log.latest()).toHaveLength(500);
  await log.stop();
});

it('says since when its topic cannot be read, until a result comes or it has not failed for a minute', async () => {
  const topic = new ScriptedTopic([1]);
  const start = clock.wall();
  let ahead = 0;
  const log = await openResultLog({
    openTopic: topic.open,
    topic: 't',
    clock: { ...clock, wall: () => start + ahead },
    read: async (value) => JSON.parse(value.toString()),
    onBrokenOff() {},
  });
  expect(log.failure).toBeNull();
  topic.failures.set(1, [new Error('no broker answers')]);
  await vi.waitFor(() => expect(log.failure).toEqual({ at: start, message: 'no broker answers' }), 10_000);
  topic.append(0, resultOf({ commandId: 'c-1' }));
  await vi.waitFor(() => expect(log.of('c-1')).toBeDefined(), 10_000);
  expect(log.failure).toBeNull();
  topic.failures.set(1, [new Error('a broker hangs')]);
  await vi.waitFor(() => expect(log.failure).not.toBeNull(), 10_000);
  ahead = 61_000;
  expect(log.failure).toBeNull();
  await log.stop();
});
