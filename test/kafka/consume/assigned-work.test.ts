import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Lease } from '../../../src/core/lease.ts';
import type { IncomingRecord } from '../../../src/core/record.ts';
import { AssignedWork } from '../../../src/kafka/consume/assigned-work.ts';
import { KeyedQueue } from '../../../src/kafka/consume/keyed-queue.ts';
import { until } from '../../support/until.ts';

const SESSION_MS = 10_000;
const recordAt = (partition: number, offset: number): IncomingRecord => ({
  ...{ topic: 't', partition, offset: BigInt(offset), key: null, value: null, headers: {}, timestamp: 0 },
});

/** Work that doesn't end, of a consumer that says what it is told to do. */
function open() {
  vi.useFakeTimers({ toFake: ['performance'] });
  const listeners = new Map<string, ((event: { payload: object }) => void)[]>();
  const told: string[] = [];
  const say = (verb: string) => (places: { partitions: number[] }[]) =>
    void told.push(`${verb} ${places.flatMap(({ partitions }) => partitions)}`);
  const consumer = {
    events: { REQUEST: 'request', HEARTBEAT: 'heartbeat', GROUP_JOIN: 'join' },
    on: (name: string, listener: (event: { payload: object }) => void) =>
      void listeners.set(name, [...(listeners.get(name) ?? []), listener]),
    ...{ pause: say('pause'), resume: say('resume') },
    seek: ({ partition, offset }: { partition: number; offset: string }) =>
      void told.push(`seek ${partition} to ${offset}`),
    commitOffsets: async () => {},
  };
  const begun = new Map<string, Lease>();
  const working: boolean[] = [];
  const work = new AssignedWork({
    ...{ consumer: consumer as never, sessionTimeoutMs: SESSION_MS, queue: new KeyedQueue(32, ['t']) },
    keysOf: async () => [],
    handle({ partition, offset }, lease) {
      begun.set(`${partition}@${offset}`, lease);
      return new Promise(() => {});
    },
    onError: expect.fail,
    onWorking: (isWorking) => working.push(isWorking),
  });
  onTestFinished(() => {
    work.end();
    vi.useRealTimers();
  });
  const tell = (name: string, payload: object) => {
    for (const listener of listeners.get(name) ?? []) listener({ payload });
  };
  const join = (...partitions: number[]) => {
    tell('request', { apiName: 'SyncGroup', duration: 0 });
    tell('join', { memberAssignment: partitions.length > 0 ? { t: partitions } : {} });
  };
  const begin = async (partition: number, offset: number) => {
    work.take(recordAt(partition, offset));
    return until('it has begun', () => begun.get(`${partition}@${offset}`));
  };
  return { work, join, begin, told, working, pass: (ms: number) => vi.advanceTimersByTime(ms) };
}

describe('the work of a consumer', () => {
  it('goes on in the partitions that it keeps, and ends in those that it loses', async () => {
    const { join, begin } = open();
    join(0, 1);
    const [kept, lost] = [await begin(0, 5), await begin(1, 5)];
    join(0);
    expect([kept.signal.aborted, lost.signal.aborted]).toEqual([false, true]);
    kept.check();
    expect(() => lost.check()).toThrow(expect.objectContaining({ name: 'AbortError' }));
  });

  it('ends with the lease, which is looked at by whoever is about to do something: it has nothing to keep then', async () => {
    const { work, join, begin, told, pass } = open();
    join(0, 1);
    const lease = await begin(0, 5);
    expect(work.count()).toBe(2);
    pass(SESSION_MS);
    expect([work.count(), lease.signal.aborted]).toEqual([0, false]);
    expect(() => lease.check()).toThrow(expect.objectContaining({ name: 'AbortError' }));
    expect(told.at(-1)).toBe('seek 0 to 5');
  });

  it('is told when it begins and when another does it', () => {
    const { work, join, working } = open();
    join();
    join(0, 1);
    join(0, 1);
    expect(working).toEqual([true]);
    join();
    join(0);
    work.end();
    expect(working).toEqual([true, false, true, false]);
  });
});
