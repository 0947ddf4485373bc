import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { leaseOf } from '../../src/core/lease.ts';
import { type Counted, countOpen } from '../../src/dead-letters/count-open.ts';
import { DEAD_LETTER_HEADERS as NAMES } from '../../src/delivery/dead-letter/dead-letter-headers.ts';
import type { OpenTopic } from '../../src/kafka/consume/topic-fetcher.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { ScriptedTopic } from '../support/scripted-topic.ts';
import { until } from '../support/until.ts';

/** @param silent what is never answered */
function setUp({ maxRecords, silent }: { readonly maxRecords?: number; readonly silent?: string } = {}) {
  const topic = new ScriptedTopic([1, 1]);
  const append = (partition: number, headers: Record<string, string>) => {
    topic.append(partition, 'a body');
    const record = topic.logs[partition]?.pop() ?? expect.fail('nothing appended');
    topic.logs[partition]?.push({ ...record, headers, timestamp: Date.now() - 60_000 });
    return `${partition}:${record.offset}`;
  };
  const deadLetter = (partition: number, eventId: string) =>
    append(partition, { [NAMES.stage]: 'DECRYPT', [NAMES.eventId]: eventId });
  /** By partition, the offsets that were asked for. */
  const asked: [partition: number, offset: bigint][] = [];
  const openTopic: OpenTopic = () => {
    const fetcher = topic.open();
    const fetch: typeof fetcher.fetch = (node, from) => {
      asked.push(...from);
      return fetcher.fetch(node, from);
    };
    const never = { [`${silent}`]: () => new Promise<never>(() => {}) };
    return { ...fetcher, fetch, ...never };
  };
  const seen: (Counted | 'standby' | Error)[] = [];
  const watch = countOpen({
    openTopic,
    topic: 't',
    clock: systemClock,
    intervalMs: 5,
    ...(maxRecords && { maxRecords }),
    retentionMs: async () => (silent === 'retentionMs' ? new Promise(() => {}) : 86_400_000),
    onCounted: (counted) => seen.push(counted),
    onStandby: () => seen.push('standby'),
    onFailure: (error) => seen.push(error as Error),
  });
  onTestFinished(() => watch.stop());
  const open = () => {
    const last = seen.at(-1);
    return last instanceof Error || last === 'standby' || last === undefined
      ? last
      : last.byStage.get('DECRYPT');
  };
  return { topic, asked, append, deadLetter, seen, watch, open };
}

describe('a process that watches open dead-letter records', () => {
  it('counts while it works, from the topic alone, and shows nothing while it stands by', async () => {
    const { deadLetter, append, asked, seen, watch, open } = setUp();
    const [first] = [deadLetter(0, 'a'), deadLetter(1, 'b'), deadLetter(1, 'c')];
    expect(seen).toEqual(['standby']);
    const lease = new AbortController();
    watch.working(leaseOf(lease.signal));
    await until('they are counted', () => open() === 3);
    const counted = seen.at(-1) as Counted;
    expect(counted.oldestSeconds).toBeGreaterThanOrEqual(60);
    expect(counted.retentionSeconds).toBe(86_400);
    asked.length = 0;
    append(0, { [NAMES.dismissalOf]: first, [NAMES.dismissedBy]: 'ops' });
    deadLetter(0, 'd');
    deadLetter(0, 'e');
    await until('new ones and the dismissal are counted', () => open() === 4);
    // Only what is new was read.
    expect(asked.filter(([partition, offset]) => partition === 1 || offset < 1n)).toEqual([]);
    lease.abort();
    await until('it stands by', () => open() === 'standby');
    watch.working(leaseOf(new AbortController().signal));
    await until('it counts again', () => open() === 4);
  });

  it('counts each record once, whatever breaks in between, and goes on', async () => {
    const { topic, deadLetter, seen, watch, open } = setUp();
    for (let n = 0; n < 9; n++) deadLetter(0, `a${n}`);
    topic.failures.set(1, [new Error('broken off'), new Error('broken off')]);
    topic.lookUpFailures = [new Error('no broker')];
    watch.working(leaseOf(new AbortController().signal));
    await until('they are counted', () => open() === 9);
    deadLetter(0, 'later');
    await until('the next is counted', () => open() === 10);
    expect(seen.filter((one) => one instanceof Error)).toEqual([]);
  });

  it.each(['lookUp', 'offsets', 'fetch', 'retentionMs'])(
    'stops at once, also where no broker answers %s',
    async (silent) => {
      const { deadLetter, seen, watch } = setUp({ silent });
      deadLetter(0, 'a');
      watch.working(leaseOf(new AbortController().signal));
      await sleep(20);
      await watch.stop();
      expect(seen).toEqual(['standby', 'standby']);
    },
  );

  it('says that it may not read the topic, and tries again', async () => {
    const { topic, deadLetter, seen, watch, open } = setUp();
    deadLetter(0, 'a');
    topic.lookUpFailures = Array.from({ length: 6 }, () => new Error('not allowed'));
    watch.working(leaseOf(new AbortController().signal));
    await until('it is said', () => seen.some((one) => one instanceof Error));
    await until('it is counted', () => open() === 1);
  });

  it('counts none after all of more than it can hold were dismissed, and goes on', async () => {
    const { deadLetter, append, seen, watch, open } = setUp({ maxRecords: 100 });
    const all = Array.from({ length: 300 }, (_, n) => deadLetter(0, `a${n}`));
    watch.working(leaseOf(new AbortController().signal));
    await until('they are counted', () => open() === 300);
    for (const one of all) append(0, { [NAMES.dismissalOf]: one, [NAMES.dismissedBy]: 'ops' });
    await until('none is left', () => open() === 0);
    deadLetter(0, 'later');
    await until('a later one is counted', () => open() === 1);
    expect(seen.filter((one) => one instanceof Error)).toEqual([]);
  });

  it('begins anew where the topic was created anew', async () => {
    const { topic, deadLetter, watch, open } = setUp();
    for (let n = 0; n < 5; n++) deadLetter(0, `a${n}`);
    watch.working(leaseOf(new AbortController().signal));
    await until('they are counted', () => open() === 5);
    topic.logs[0] = [];
    topic.topicId = 'second';
    deadLetter(0, 'b');
    await until('those of the new topic alone', () => open() === 1);
  });
});
