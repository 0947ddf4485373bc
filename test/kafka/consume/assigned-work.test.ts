import { describe, expect, it, onTestFinished } from 'vitest';
import type { Lease } from '../../../src/core/lease.ts';
import type { IncomingRecord } from '../../../src/core/record.ts';
import { AssignedWork } from '../../../src/kafka/consume/assigned-work.ts';
import { KeyedQueue } from '../../../src/kafka/consume/keyed-queue.ts';
import { RecreatedTopics } from '../../../src/kafka/consume/recreated-topics.ts';
import { type Clock, systemClock } from '../../../src/runtime/clock.ts';
import { until } from '../../support/until.ts';

const SESSION_MS = 10_000;
const recordAt = (partition: number, offset: number): IncomingRecord => ({
  topic: 't',
  partition,
  offset: BigInt(offset),
  key: null,
  value: null,
  headers: {},
  timestamp: 0,
});

/** Work that doesn't end, of a consumer that says what it is told to do. */
function open() {
  let now = 0;
  let tick = () => {};
  // What is checked every half a second is checked when the test says so.
  const every: Clock['every'] = (_, work) => {
    tick = work;
    return { cancel() {} };
  };
  const listeners = new Map<string, ((event: { payload: object }) => void)[]>();
  const told: string[] = [];
  const say = (verb: string) => (places: { partitions: number[] }[]) =>
    void told.push(`${verb} ${places.flatMap(({ partitions }) => partitions)}`);
  const consumer = {
    events: { REQUEST: 'request', HEARTBEAT: 'heartbeat', GROUP_JOIN: 'join', STOP: 'stop' },
    on: (name: string, listener: (event: { payload: object }) => void) =>
      void listeners.set(name, [...(listeners.get(name) ?? []), listener]),
    pause: say('pause'),
    resume: say('resume'),
    seek: ({ partition, offset }: { partition: number; offset: string }) => {
      if (client.hasNoGroup) throw new Error('Consumer group was not initialized');
      told.push(`seek ${partition} to ${offset}`);
    },
    async commitOffsets([{ partition, offset }]: [{ partition: number; offset: string }]) {
      if (client.refusesCommits) throw new Error('REBALANCE_IN_PROGRESS');
      told.push(`commit ${partition} at ${offset}`);
    },
  };
  const client = { hasNoGroup: false, refusesCommits: false };
  const recreated = new RecreatedTopics({ now: () => now });
  const begun = new Map<string, Lease>();
  const done = new Map<string, () => void>();
  const working: (Lease | null)[] = [];
  const work = new AssignedWork({
    consumer: consumer as never,
    sessionTimeoutMs: SESSION_MS,
    queue: new KeyedQueue(32, ['t']),
    recreated,
    clock: { ...systemClock, now: () => now, wall: () => now, every },
    keysOf: async () => [],
    handle({ partition, offset }, lease) {
      begun.set(`${partition}@${offset}`, lease);
      return new Promise((resolve) => done.set(`${partition}@${offset}`, resolve));
    },
    onError: expect.fail,
    onWorking: (lease) => working.push(lease),
  });
  onTestFinished(() => work.end());
  const tell = (name: string, payload: object) => {
    for (const listener of listeners.get(name) ?? []) listener({ payload });
  };
  const joinAs = (memberId: string, ...partitions: number[]) => {
    tell('request', { apiName: 'SyncGroup', duration: 0, createdAt: now });
    tell('join', { memberId, memberAssignment: partitions.length > 0 ? { t: partitions } : {} });
  };
  const join = (...partitions: number[]) => joinAs('m', ...partitions);
  const begin = async (partition: number, offset: number) => {
    begun.clear();
    work.take(recordAt(partition, offset));
    return until('it has begun', () => begun.get(`${partition}@${offset}`));
  };
  const pass = (ms: number) => {
    now += ms;
  };
  const isWorking = () => working.map((lease) => lease !== null);
  const present = () => now;
  const recreate = () => {
    recreated.add('t');
    work.beginAnew();
  };
  const anew = () => told.splice(0).filter((one) => !one.startsWith('resume'));
  const settle = () => new Promise(setImmediate);
  return {
    done,
    client,
    recreate,
    anew,
    settle,
    work,
    tell,
    join,
    joinAs,
    begin,
    told,
    working,
    isWorking,
    pass,
    present,
    tick: () => tick(),
  };
}

describe('the work of a consumer', () => {
  it('goes on in the partitions that it keeps, and ends in those that it loses', async () => {
    const { join, begin } = open();
    join(0, 1);
    const kept = await begin(0, 5);
    const lost = await begin(1, 5);
    join(0);
    expect([kept.signal.aborted, lost.signal.aborted]).toEqual([false, true]);
    kept.check();
    expect(() => lost.check()).toThrow(expect.objectContaining({ name: 'AbortError' }));
  });

  it('begins anew where what comes is behind what is committed: the topic was deleted and created anew', async () => {
    const { work, join, begin } = open();
    join(0);
    const before = await begin(0, 1_000);
    const first = await begin(0, 0);
    expect([before.signal.aborted, first.signal.aborted]).toEqual([true, false]);
    // As after each rebalance.
    expect([work.take(recordAt(0, 0)), first.signal.aborted]).toEqual([true, false]);
  });

  it('takes nothing of what the group has not given it, as answers are on their way while it joins again', async () => {
    const { work, join, begin } = open();
    expect(work.take(recordAt(0, 5))).toBe(false);
    join(0);
    await begin(0, 5);
    join();
    expect(work.take(recordAt(0, 6))).toBe(false);
  });

  it('does not begin to work when it is given partitions while it stops', async () => {
    const { work, join, working } = open();
    join();
    await work.finish();
    join(0);
    expect([working, work.count()]).toEqual([[], 0]);
  });

  it('ends with the lease, which is looked at by whoever is about to do something: it has nothing to keep then', async () => {
    const { work, join, begin, told, pass } = open();
    join(0, 1);
    const lease = await begin(0, 5);
    expect(work.count()).toBe(2);
    pass(SESSION_MS);
    expect([work.count(), lease.leftMs?.(), lease.signal.aborted]).toEqual([0, 0, false]);
    expect(() => lease.check()).toThrow(expect.objectContaining({ name: 'AbortError' }));
    expect(told.at(-1)).toBe('seek 0 to 5');
  });

  it('is told when it begins and when another does it', () => {
    const { work, join, working, isWorking } = open();
    join();
    join(0, 1);
    join(0, 1);
    expect(isWorking()).toEqual([true]);
    join();
    join(0);
    expect(working.map((lease) => lease?.signal.aborted)).toEqual([true, undefined, false]);
    work.end();
    expect(isWorking()).toEqual([true, false, true, false]);
    expect(working[2]?.signal.aborted).toBe(true);
  });

  it('ends with the session by whoever checks first, and begins anew when the group is heard of again', () => {
    const { tell, join, working, isWorking, pass, present, tick } = open();
    join(0, 1);
    pass(SESSION_MS - 1);
    working[0]?.check();
    expect(working[0]?.leftMs?.()).toBe(1);
    pass(1);
    expect(working[0]?.signal.aborted).toBe(false);
    expect(() => working[0]?.check()).toThrow(expect.objectContaining({ name: 'AbortError' }));
    expect([isWorking(), working[0]?.signal.aborted]).toEqual([[true, false], true]);
    // The broker that keeps the group was unreachable for so long, and has forgotten nobody.
    tell('request', { apiName: 'Heartbeat', duration: 0, createdAt: present() });
    tell('heartbeat', {});
    tick();
    expect(isWorking()).toEqual([true, false, true]);
    pass(SESSION_MS);
    tick();
    expect([isWorking(), working[2]?.signal.aborted]).toEqual([[true, false, true, false], true]);
  });

  it.each([
    ['it leaves the group', 'm', true],
    ['it has become another member', 'n', false],
  ])('ends when %s, though its lease would last', async (_, memberId, leaves) => {
    const { tell, joinAs, begin, working, isWorking } = open();
    joinAs('m', 0);
    const lease = await begin(0, 5);
    if (leaves) tell('stop', {});
    joinAs(memberId, 0);
    expect(() => lease.check()).toThrow(expect.objectContaining({ name: 'AbortError' }));
    expect([isWorking(), working[0]?.signal.aborted]).toEqual([[true, false, true], true]);
    // It comes again, as what is not committed.
    expect((await begin(0, 5)).signal.aborted).toBe(false);
  });

  it('ends with the stop, which tells nobody that another process works', async () => {
    const { work, join, working, isWorking } = open();
    join(0, 1);
    await work.finish();
    // What is under way still writes.
    expect(() => working[0]?.check()).toThrow(expect.objectContaining({ name: 'AbortError' }));
    expect([isWorking(), working[0]?.signal.aborted]).toEqual([[true], true]);
  });
});

describe('a topic that was deleted and created anew', () => {
  const BEGUN = ['seek 0 to 0', 'commit 0 at 0'];

  it('is read from its beginning, once', async () => {
    const { join, begin, recreate, anew, settle, tick } = open();
    join(0);
    const before = await begin(0, 1_000);
    recreate();
    expect([before.signal.aborted, anew()]).toEqual([true, BEGUN]);
    await settle();
    const first = await begin(0, 0);
    tick();
    join(0);
    expect([anew(), first.signal.aborted]).toEqual([[], false]);
  });

  it('is read from its beginning when the consumer has its group again', async () => {
    const { client, join, begin, recreate, anew, settle, tick } = open();
    join(0);
    await begin(0, 1_000);
    anew();
    client.hasNoGroup = true;
    recreate();
    tick();
    expect(anew()).toEqual([]);
    client.hasNoGroup = false;
    tick();
    await settle();
    expect(anew()).toEqual(BEGUN);
    tick();
    expect(anew()).toEqual([]);
  });

  it('is read from its beginning by the member that is given it in the rebalance that was under way', async () => {
    const { join, recreate, anew, settle, pass, tick } = open();
    join();
    recreate();
    tick();
    pass(60_000);
    join(0);
    await settle();
    expect(anew()).toEqual(BEGUN);
  });

  it('is not begun anew by a member that is given it much later: another one has done so', async () => {
    const { join, recreate, anew, pass, tick } = open();
    join();
    recreate();
    pass(120_000);
    tick();
    join(0);
    expect(anew()).toEqual([]);
  });

  it('whose beginning could not be committed is begun again where the group was joined again, and committed anyway', async () => {
    const { client, join, begin, recreate, anew, settle, tick } = open();
    join(0);
    client.refusesCommits = true;
    recreate();
    await settle();
    expect(anew()).toEqual(['seek 0 to 0']);
    const first = await begin(0, 0);
    tick();
    await settle();
    expect([anew(), first.signal.aborted]).toEqual([[], false]);
    join(0);
    await settle();
    expect([anew(), first.signal.aborted]).toEqual([['seek 0 to 0'], true]);
    client.refusesCommits = false;
    tick();
    await settle();
    expect(anew()).toEqual(['commit 0 at 0']);
  });

  it('whose beginning could not be committed is not committed again over what was done since', async () => {
    const { client, done, join, begin, recreate, anew, settle, tick } = open();
    join(0);
    await begin(0, 1_000);
    client.refusesCommits = true;
    recreate();
    await settle();
    client.refusesCommits = false;
    await begin(0, 0);
    // What was begun of the topic before ends, too.
    for (const end of done.values()) end();
    await settle();
    tick();
    await settle();
    expect(anew().filter((one) => one.startsWith('commit'))).toEqual(['commit 0 at 1']);
  });
});
