import { beforeEach, describe, expect, it } from 'vitest';
import { ByteSemaphore } from '../../../src/ingress/body/byte-semaphore.ts';
import { systemClock } from '../../../src/runtime/clock.ts';

const FOREVER = Number.POSITIVE_INFINITY;
const MIB = 1024 * 1024;
const settled = () => new Promise(setImmediate);

describe('room for bodies', () => {
  it('is given first come first served: a small one does not pass a large one that waits', async () => {
    const room = new ByteSemaphore(10, systemClock);
    const entered: string[] = [];
    await room.acquire(8, FOREVER);
    const large = room.acquire(6, FOREVER).then(() => entered.push('large'));
    const small = room.acquire(1, FOREVER).then(() => entered.push('small'));
    expect([room.tryAcquire(1), room.waiting, room.taken]).toEqual([false, 2, 8]);
    room.release(8);
    await Promise.all([large, small]);
    expect(entered).toEqual(['large', 'small']);
    expect([room.waiting, room.taken]).toEqual([0, 7]);
  });

  it('is had at once by one whose place is before those that wait for more than there is', async () => {
    const room = new ByteSemaphore(10, systemClock);
    await room.acquire(5, FOREVER);
    const gone = new AbortController();
    const large = room.acquire(8, FOREVER, gone.signal, { cost: 8 });
    const refused = expect(large).rejects.toMatchObject({ code: 'BODY_INCOMPLETE' });
    void room.acquire(2, FOREVER, undefined, { cost: 2 });
    expect([room.waiting, room.taken]).toEqual([1, 7]);
    gone.abort();
    await refused;
  });

  it('is refused with NO_ROOM when the time is up; those behind get their turn then', async () => {
    const room = new ByteSemaphore(10, systemClock);
    await room.acquire(5, FOREVER);
    const late = room.acquire(6, 20);
    const next = room.acquire(5, FOREVER);
    await expect(late).rejects.toMatchObject({ code: 'NO_ROOM', status: 503 });
    await next;
    expect([room.waiting, room.taken]).toEqual([0, 10]);
  });

  it('is not taken by one that is gone', async () => {
    const room = new ByteSemaphore(10, systemClock);
    await room.acquire(10, FOREVER);
    const gone = new AbortController();
    const waiting = room.acquire(5, FOREVER, gone.signal);
    gone.abort();
    await expect(waiting).rejects.toMatchObject({ code: 'BODY_INCOMPLETE' });
    room.release(10);
    expect([room.waiting, room.taken]).toEqual([0, 0]);
    await expect(room.acquire(5, FOREVER, gone.signal)).rejects.toMatchObject({ code: 'BODY_INCOMPLETE' });
  });

  it('has one that is larger than all of it, alone', async () => {
    const room = new ByteSemaphore(10, systemClock);
    await room.acquire(11, FOREVER);
    expect(room.tryAcquire(1)).toBe(false);
    room.release(11);
    expect(room.tryAcquire(10)).toBe(true);
  });

  describe('of 64 MiB, where larger bodies have all that they may, and one of them waits,', () => {
    let room: ByteSemaphore;
    let entered: string[];
    const acquire = (name: string, bytes: number) =>
      void room.acquire(bytes, FOREVER).then(() => entered.push(name));

    beforeEach(async () => {
      room = new ByteSemaphore(64 * MIB, systemClock);
      entered = [];
      await room.acquire(50 * MIB, FOREVER);
      await room.acquire(6 * MIB, FOREVER);
      acquire('larger', 5 * MIB);
    });

    it('has those up to 4 MiB in what is left to them, and no more', async () => {
      acquire('4 MiB', 4 * MIB);
      expect(room.tryAcquire(4 * MIB)).toBe(true);
      acquire('1 MiB', MIB);
      expect(room.tryAcquire(1)).toBe(false);
      await settled();
      expect([entered, room.waiting]).toEqual([['4 MiB'], 2]);
      room.release(4 * MIB);
      await settled();
      expect(entered).toEqual(['4 MiB', '1 MiB']);
    });

    it('has the larger one as soon as it would be without those that passed it', async () => {
      acquire('4 MiB', 4 * MIB);
      acquire('4 MiB', 4 * MIB);
      acquire('1 MiB', MIB);
      room.release(6 * MIB);
      await settled();
      expect(entered).toEqual(['4 MiB', '4 MiB', 'larger', '1 MiB']);
    });

    it('says what is missing for it, and for those that cannot pass it', () => {
      acquire('4 MiB', 4 * MIB);
      for (const size of [3, 2, 1]) acquire('others', size * MIB);
      expect([...room.lacks(0)].map(({ bytes, forFirst }) => [bytes / MIB, forFirst / MIB])).toEqual([
        [8, 5],
        [2, 1],
      ]);
    });
  });

  it('is had by nobody before one that waits until it is alone', async () => {
    const room = new ByteSemaphore(64 * MIB, systemClock);
    await room.acquire(50 * MIB, FOREVER);
    const alone = room.acquire(60 * MIB, FOREVER);
    expect(room.tryAcquire(1)).toBe(false);
    room.release(50 * MIB);
    await alone;
  });

  it('is said to be there for so many bytes only where they would not wait', async () => {
    const room = new ByteSemaphore(64 * MIB, systemClock);
    expect(room.hasRoom(65 * MIB)).toBe(true);
    await room.acquire(50 * MIB, FOREVER);
    expect([10, 4].map((size) => room.hasRoom(size * MIB))).toEqual([false, true]);
  });
});
