import { describe, expect, it } from 'vitest';
import { BodyArena } from '../../../src/ingress/body/body-arena.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { manualClock } from '../../support/manual-clock.ts';

const placeOf = ({ byteOffset, length }: Buffer) => [byteOffset, length];

describe('the memory for large bodies', () => {
  it('is cut into pieces that do not overlap, and used again from its beginning', async () => {
    const arena = new BodyArena(100, systemClock);
    const [a, b, c] = await Promise.all([40, 30, 30].map((bytes) => arena.acquire(bytes)));
    expect([a, b, c].map((piece) => placeOf(piece as Buffer))).toEqual([
      [0, 40],
      [40, 30],
      [70, 30],
    ]);
    arena.release(a as Buffer);
    arena.release(b as Buffer);
    expect(placeOf(await arena.acquire(60))).toEqual([0, 60]);
    expect(placeOf(await arena.acquire(10))).toEqual([60, 10]);
  });

  it('is used again by bodies that follow, and given back half a minute after the last one', async () => {
    const clock = manualClock();
    const arena = new BodyArena(100, clock);
    const memoryOfNext = async () => {
      const piece = await arena.acquire(40);
      await clock.advance(29_999);
      arena.release(piece);
      return piece.buffer;
    };
    const first = await memoryOfNext();
    await clock.advance(29_999);
    expect(await memoryOfNext()).toBe(first);
    const held = await arena.acquire(10);
    await clock.advance(60_000);
    expect(await memoryOfNext()).toBe(first);
    arena.release(held);
    await clock.advance(30_000);
    expect(await memoryOfNext()).not.toBe(first);
  });

  it('is joined again, in whatever order its pieces come back', async () => {
    const sizes = [10, 20, 30, 40];
    for (const order of ['0123', '3210', '1302', '2013', '0213', '3120']) {
      const arena = new BodyArena(100, systemClock);
      const pieces = await Promise.all(sizes.map((bytes) => arena.acquire(bytes)));
      for (const n of order) arena.release(pieces[Number(n)] as Buffer);
      expect(placeOf(await arena.acquire(100)), order).toEqual([0, 100]);
    }
  });

  it('lets one wait until there is a piece that is large enough, and those behind it too', async () => {
    const arena = new BodyArena(100, systemClock);
    const pieces = await Promise.all([25, 25, 25, 25].map((bytes) => arena.acquire(bytes)));
    const entered: string[] = [];
    const large = arena.acquire(50).then((piece) => entered.push(`large ${piece.byteOffset}`));
    const small = arena.acquire(10).then((piece) => entered.push(`small ${piece.byteOffset}`));
    arena.release(pieces[0] as Buffer);
    arena.release(pieces[2] as Buffer);
    await new Promise(setImmediate);
    expect(entered).toEqual([]);
    arena.release(pieces[3] as Buffer);
    await Promise.all([large, small]);
    expect(entered).toEqual(['large 50', 'small 0']);
  });

  it('has a piece for one up to 4 MiB while a larger one waits: at the end, so that there is a long one for that', async () => {
    const mib = 1024 * 1024;
    const arena = new BodyArena(64 * 1024 * 1024, systemClock);
    const pieces = await Promise.all([6, 40, 8].map((size) => arena.acquire(size * mib)));
    arena.release(pieces[0] as Buffer);
    const larger = arena.acquire(9 * mib);
    expect((await arena.acquire(4 * mib)).byteOffset).toBe(60 * mib);
    arena.release(pieces[1] as Buffer);
    expect((await larger).byteOffset).toBe(0);
  });

  it('is not taken by one that is gone', async () => {
    const arena = new BodyArena(100, systemClock);
    const piece = await arena.acquire(80);
    const gone = new AbortController();
    const waiting = arena.acquire(30, gone.signal);
    gone.abort();
    await expect(waiting).rejects.toMatchObject({ code: 'BODY_INCOMPLETE' });
    arena.release(piece);
    expect(placeOf(await arena.acquire(100))).toEqual([0, 100]);
  });

  it('counts nothing of a piece for which the machine gives no memory', () => {
    const arena = new BodyArena(Number.MAX_SAFE_INTEGER, systemClock);
    const acquireAll = () => void arena.acquire(Number.MAX_SAFE_INTEGER);
    expect(acquireAll).toThrow(RangeError);
    expect(acquireAll).toThrow(RangeError);
  });

  it('is memory that threads share', async () => {
    expect((await new BodyArena(10, systemClock).acquire(5)).buffer).toBeInstanceOf(SharedArrayBuffer);
  });
});
