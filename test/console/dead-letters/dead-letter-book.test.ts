import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it, onTestFinished } from 'vitest';
import { DeadLetterBook } from '../../../src/console/dead-letters/dead-letter-book.ts';
import { HooklineError } from '../../../src/core/errors.ts';
import { stateOf } from '../../../src/dead-letters/dead-letters.ts';
import { DEAD_LETTER_HEADERS as NAMES } from '../../../src/delivery/dead-letter/dead-letter-headers.ts';
import type { TopicFetcher } from '../../../src/kafka/consume/topic-fetcher.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { ScriptedTopic } from '../../support/scripted-topic.ts';
import { until } from '../../support/until.ts';

function setUp(maxRecords?: number) {
  const topic = new ScriptedTopic([1, 1]);
  const append = (partition: number, headers: Record<string, string>) => {
    topic.append(partition, 'a body');
    const record = topic.logs[partition]?.pop() ?? expect.fail('nothing appended');
    topic.logs[partition]?.push({ ...record, headers });
    return `${partition}:${record.offset}`;
  };
  const book = new DeadLetterBook({
    openTopic: topic.open,
    topic: 't',
    clock: systemClock,
    pollMs: 5,
    ...(maxRecords !== undefined && { maxRecords }),
    onFailure: () => {},
  });
  onTestFinished(() => book.stop());
  const deadLetter = (partition: number, eventId: string) =>
    append(partition, { [NAMES.stage]: 'DECRYPT', [NAMES.eventId]: eventId });
  const states = () => book.deadLetters().deadLetters.map((one) => `${one.at} ${stateOf(one)}`);
  return { topic, append, deadLetter, book, states };
}

it('says that the topic was not read yet, until it was', async () => {
  const { book } = setUp();
  expect(book.deadLetters().failure).toBe('the topic was not read yet');
  await until('it is known to be empty', () => book.deadLetters().failure === null);
});

it('knows what was dead-lettered, and what became of it', async () => {
  const { append, deadLetter, book, states } = setUp();
  const first = deadLetter(0, 'a');
  deadLetter(1, 'b');
  await until('both are known', () => states().length === 2);
  expect(states()).toEqual(['0:0 open', '1:0 open']);
  const { version } = book;
  append(0, { [NAMES.redriveOf]: first, [NAMES.redrivenTo]: 't[0]@1' });
  append(1, {
    [NAMES.dismissalOf]: '1:0',
    [NAMES.dismissedBy]: 'me',
    [NAMES.dismissedReason]: 'x'.repeat(600),
  });
  await until('their ends are known', () => states().join() === '0:0 redriven,1:0 dismissed');
  expect(book.version).toBeGreaterThan(version);
  expect(book.deadLetters()).toMatchObject({ isPartial: false, read: 4, total: 4, failure: null });
  expect(book.deadLetters().deadLetters[1]?.dismissed?.reason).toHaveLength(500);
});

it('forgets what retention has deleted', async () => {
  const { topic, deadLetter, states } = setUp();
  deadLetter(0, 'a');
  deadLetter(0, 'b');
  await until('both are known', () => states().length === 2);
  topic.oldest[0] = 1n;
  await until('the first is forgotten', () => states().join() === '0:1 open');
});

it('forgets first what is done where there is too much, and says that it is not all', async () => {
  const { append, deadLetter, book, states } = setUp(5);
  const first = deadLetter(0, 'a');
  append(0, { [NAMES.redriveOf]: first, [NAMES.redrivenTo]: 't[0]@1' });
  for (const id of ['b', 'c', 'd']) deadLetter(0, id);
  await until('all are known', () => states().length === 4);
  expect(book.deadLetters().isPartial).toBe(false);
  deadLetter(1, 'e');
  await until('there is room again', () => book.deadLetters().isPartial);
  expect(states()).toEqual(['1:0 open', '0:2 open', '0:3 open', '0:4 open']);
});

it('keeps the latest of too many that are open, and says how many it does not hold', async () => {
  const { topic, append, deadLetter, book, states } = setUp(10);
  for (let n = 0; n < 35; n++) deadLetter(n % 2, `event-${n}`);
  await until('all were read', () => book.deadLetters().read === 35);
  const held = states().length;
  expect(held).toBeGreaterThanOrEqual(9);
  expect(held).toBeLessThanOrEqual(10);
  expect(states().at(-1)).toBe('0:17 open');
  expect(book.deadLetters()).toMatchObject({ isPartial: true, openNotHeld: 35 - held });
  append(1, { [NAMES.dismissalOf]: '1:2', [NAMES.dismissedBy]: 'me', [NAMES.dismissedReason]: 'a test' });
  await until('one less is open', () => book.deadLetters().openNotHeld === 34 - held);
  // Retention deletes what is not held.
  for (const partition of [0, 1]) topic.oldest[partition] = topic.end(partition);
  append(0, {});
  await until('all is held again', () => !book.deadLetters().isPartial);
  expect([book.deadLetters().openNotHeld, states()]).toEqual([0, ['0:18 open']]);
});

it('begins anew with a topic that was created anew, and goes on after a failure', async () => {
  const { topic, deadLetter, book, states } = setUp();
  for (const id of ['a', 'b', 'c']) deadLetter(0, id);
  await until('all are known', () => states().length === 3);
  topic.logs[0] = [];
  deadLetter(0, 'new');
  await until('the new one is known', () => states().join() === '0:0 open');
  topic.failures.set(1, [new TypeError('lost')]);
  deadLetter(0, 'later');
  await until('it goes on', () => states().length === 2);
  expect(book.deadLetters().failure).toBeNull();
});

it('holds little of a record, whoever has written it', async () => {
  const { topic, append, book, states } = setUp();
  const others = Object.fromEntries(
    Array.from({ length: 500 }, (_, n) => [`x-${n}`.padEnd(5_000, 'n'), `${n}`]),
  );
  append(0, { ...others, [NAMES.stage]: 'ENCODE', [NAMES.eventId]: 'a' });
  const large = topic.logs[0]?.pop() ?? expect.fail('nothing appended');
  topic.logs[0]?.push({ ...large, key: Buffer.alloc(60_000, 'k') });
  await until('it is known', () => states().length === 1);
  const [held] = book.deadLetters().deadLetters;
  expect(JSON.stringify([held?.key, held?.headers]).length).toBeLessThan(10_000);
  expect(held?.headers).toMatchObject({ [NAMES.stage]: 'ENCODE', [NAMES.eventId]: 'a' });
});

it('keeps no long text in memory by its beginning', async () => {
  const count = 1_000;
  const recordAt = (n: number) => ({
    topic: 't',
    partition: 0,
    offset: BigInt(n),
    timestamp: 1,
    key: null,
    value: null,
    headers: { foreign: Buffer.from(`${n}-`.padEnd(60_000, 'x')).toString() },
  });
  const openTopic = (): TopicFetcher => ({
    lookUp: async () => ({ topicId: 'a', leaders: [1] }),
    offsets: async (at) => new Map([[0, at === 'oldest' ? 0n : BigInt(count)]]),
    async fetch(_, from) {
      const start = Number(from.get(0) ?? 0n);
      const records = Array.from({ length: Math.min(50, count - start) }, (_, n) => recordAt(start + n));
      return [{ partition: 0, records, next: BigInt(start + records.length) }];
    },
    close() {},
  });
  const used = () => {
    setFlagsFromString('--expose-gc');
    runInNewContext('gc')();
    return process.memoryUsage().heapUsed;
  };
  const before = used();
  const deps = { openTopic, topic: 't', clock: systemClock, pollMs: 5, onFailure() {} };
  const book = new DeadLetterBook(deps);
  onTestFinished(() => book.stop());
  await until('all were read', () => book.deadLetters().read === count, 20_000);
  expect(used() - before).toBeLessThan(20e6);
});

it('takes nothing twice while a partition cannot be read, and what the others have meanwhile', async () => {
  const { topic, deadLetter, book, states } = setUp();
  deadLetter(0, 'a');
  deadLetter(1, 'b');
  // The second partition is another broker's, which fails for good; the reading is given up and begun again.
  topic.leaders = [1, 2];
  const refused = new HooklineError('KAFKA_REFUSED', 't[1]');
  topic.failures.set(
    2,
    Array.from({ length: 10_000 }, () => refused),
  );
  await until('the reading was begun again', () => topic.lookUps > 30);
  const [held] = book.deadLetters().deadLetters;
  expect(states()).toEqual(['0:0 open']);
  expect(held?.copies).toHaveLength(1);
  deadLetter(0, 'c');
  await until('what came since is known', () => states().includes('0:1 open'));
});
