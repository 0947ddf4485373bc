import { describe, expect, it } from 'vitest';
import type { Lease } from '../../../src/core/lease.ts';
import type { IncomingRecord } from '../../../src/core/record.ts';
import { KeyedQueue } from '../../../src/kafka/consume/keyed-queue.ts';
import { PartitionWork } from '../../../src/kafka/consume/partition-work.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { until } from '../../support/until.ts';

const recordAt = (offset: number): IncomingRecord => ({
  topic: 't',
  partition: 0,
  offset: BigInt(offset),
  key: null,
  value: null,
  headers: {},
  timestamp: 0,
});

/** The work of a partition, each record under a key of its own and ended when told. */
function open() {
  const committed: bigint[] = [];
  const errors: unknown[] = [];
  const begun: number[] = [];
  const running = new Map<number, { end: () => void; fail: (error: Error) => void; lease: Lease }>();
  const faults: { commit?: Error | undefined; keys?: Error | undefined; isOver?: boolean } = {};
  let rooms = 0;

  const work = new PartitionWork({
    queue: new KeyedQueue(1_000, ['t']),
    clock: systemClock,
    async keysOf({ offset }) {
      if (faults.keys) throw faults.keys;
      return [`key ${offset}`];
    },
    handle: ({ offset }, lease) => {
      const { signal } = lease;
      begun.push(Number(offset));
      return new Promise((end, fail) => {
        running.set(Number(offset), { end, fail, lease });
        signal.addEventListener('abort', () => fail(new Error('aborted')));
      });
    },
    checkLease: () => {
      if (faults.isOver) work.end();
    },
    leftMs: () => 1_000,
    onError: (error) => errors.push(error),
    async commit(offset) {
      if (faults.commit) throw faults.commit;
      committed.push(offset);
    },
    onCapacity: () => rooms++,
  });
  const put = (offset: number, bytes = 0) => work.take({ ...recordAt(offset), value: Buffer.alloc(bytes) });
  const take = (...offsets: number[]) => {
    for (const offset of offsets) put(offset);
  };
  const begin = (offset: number) => until(`${offset} has begun`, () => running.get(offset));
  const end = async (...offsets: number[]) => {
    for (const offset of offsets) (await begin(offset)).end();
  };
  return { work, committed, errors, begun, running, faults, put, take, begin, end, rooms: () => rooms };
}

describe('the work of a partition', () => {
  it('is committed as far as it is done without a gap', async () => {
    const { work, committed, take, end } = open();
    take(10, 11, 15);
    await end(11, 15);
    expect(committed).toEqual([]);
    expect(work.mark).toBe(10n);
    await end(10);
    await until('all is committed', () => committed.at(-1) === 16n);
  });

  it('is committed whole where a gap closes in the very moment in which what is behind it was done', async () => {
    const { committed, take, begin } = open();
    take(10, 11);
    const first = await begin(10);
    const second = await begin(11);
    second.end();
    first.end();
    await until('all is committed', () => committed.at(-1) === 12n);
  });

  it('is committed with what is behind it and is no record, when it is done', async () => {
    const { work, committed, take, begin, end } = open();
    take(10);
    await begin(10);
    work.pass(13n);
    expect(committed).toEqual([]);
    await end(10);
    await until('both are committed', () => committed.at(-1) === 13n);
    work.pass(12n);
    work.pass(15n);
    await until('what came alone is committed', () => committed.at(-1) === 15n);
    expect(committed).toEqual([13n, 15n]);
  });

  it('passes over what it has taken, as it comes again after a rebalance', async () => {
    const { begun, take, begin } = open();
    take(1, 2);
    await begin(2);
    take(1, 2, 3);
    await begin(3);
    expect(begun).toEqual([1, 2, 3]);
  });

  it('calls again for a record that failed, and tells of it', async () => {
    const { committed, errors, running, take, begin, end } = open();
    take(1);
    (await begin(1)).fail(new Error('unavailable'));
    running.delete(1);
    await end(1);
    await until('it is committed', () => committed.at(-1) === 2n);
    expect(errors).toMatchObject([{ message: 'unavailable' }]);
  });

  it('asks again for the keys of a record while they can not be told, and begins nothing behind it', async () => {
    const { committed, errors, begun, faults, take, end } = open();
    faults.keys = new Error('no registry');
    take(1, 2);
    await until('it was told', () => errors.length > 0);
    expect(begun).toEqual([]);
    faults.keys = undefined;
    await end(1, 2);
    await until('it is committed', () => committed.at(-1) === 3n);
    expect(begun).toEqual([1, 2]);
  });

  it('commits again where a commit failed', async () => {
    const { committed, errors, faults, take, end } = open();
    faults.commit = new Error('rebalancing');
    take(1);
    await end(1);
    await until('it was told', () => errors.length > 0);
    faults.commit = undefined;
    await until('it is committed', () => committed.at(-1) === 2n);
  });

  it.each([
    ['a thousand records', 1_000, 0],
    ['eight of a megabyte', 8, 1024 * 1024],
  ])('is full at %s, and has room again when half of them are done', async (_, most, bytes) => {
    const { work, put, end, rooms } = open();
    for (let n = 0; n < most - 1; n++) put(n, bytes);
    expect(work.isFull).toBe(false);
    put(most - 1, bytes);
    expect(work.isFull).toBe(true);
    for (let n = 0; n < most / 2; n++) await end(n);
    await until('there is room', () => rooms() === 1);
    expect(work.isFull).toBe(false);
  });

  it.each([
    ['keys', { key: Buffer.alloc(1024 * 1024) }],
    ['headers', { headers: { name: 'x'.repeat(1024 * 1024) } }],
  ])('is full at eight megabytes of %s too', (_, more) => {
    const { work } = open();
    for (let n = 0; n < 8; n++) {
      expect(work.isFull).toBe(false);
      work.take({ ...recordAt(n), ...more });
    }
    expect(work.isFull).toBe(true);
  });

  it('that is another’s now commits nothing, and begins nothing', async () => {
    const { work, committed, errors, begun, take, begin } = open();
    take(1);
    await begin(1);
    work.end();
    take(2);
    await work.finish().catch(() => {});
    expect({ committed, errors, begun }).toEqual({ committed: [], errors: [], begun: [1] });
  });

  it('is given up at once by who looks and finds that it may be another’s', async () => {
    const { errors, faults, take, begin } = open();
    take(1);
    const { lease } = await begin(1);
    lease.check();
    faults.isOver = true;
    expect(lease.signal.aborted).toBe(false);
    expect(() => lease.check()).toThrow(expect.objectContaining({ name: 'AbortError' }));
    expect(lease.signal.aborted).toBe(true);
    expect(errors).toEqual([]);
  });

  it('that ends with the process commits what came to its end', async () => {
    const { work, committed, take, end, begin } = open();
    take(1, 2);
    await end(1);
    await begin(2);
    await work.finish();
    expect(committed.at(-1)).toBe(2n);
  });
});
