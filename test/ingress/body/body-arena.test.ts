import { describe, expect, it } from 'vitest';
import { BodyArena } from '../../../src/ingress/body/body-arena.ts';

const placeOf = ({ byteOffset, length }: Buffer) => [byteOffset, length];

describe('the memory for large bodies', () => {
  it('is cut into pieces that do not overlap, and used again from its beginning', async () => {
    const arena = new BodyArena(100);
    const [a, b, c] = await Promise.all([40, 30, 30].map((bytes) => arena.enter(bytes)));
    expect([a, b, c].map((piece) => placeOf(piece as Buffer))).toEqual([
      [0, 40],
      [40, 30],
      [70, 30],
    ]);
    arena.leave(a as Buffer);
    arena.leave(b as Buffer);
    expect(placeOf(await arena.enter(60))).toEqual([0, 60]);
    expect(placeOf(await arena.enter(10))).toEqual([60, 10]);
  });

  it('is joined again, in whatever order its pieces come back', async () => {
    const sizes = [10, 20, 30, 40];
    for (const order of ['0123', '3210', '1302', '2013', '0213', '3120']) {
      const arena = new BodyArena(100);
      const pieces = await Promise.all(sizes.map((bytes) => arena.enter(bytes)));
      for (const n of order) arena.leave(pieces[Number(n)] as Buffer);
      expect(placeOf(await arena.enter(100)), order).toEqual([0, 100]);
    }
  });

  it('lets one wait until there is a piece that is large enough, and those behind it too', async () => {
    const arena = new BodyArena(100);
    const pieces = await Promise.all([25, 25, 25, 25].map((bytes) => arena.enter(bytes)));
    const entered: string[] = [];
    const large = arena.enter(50).then((piece) => entered.push(`large ${piece.byteOffset}`));
    const small = arena.enter(10).then((piece) => entered.push(`small ${piece.byteOffset}`));
    arena.leave(pieces[0] as Buffer);
    arena.leave(pieces[2] as Buffer);
    await new Promise(setImmediate);
    expect(entered).toEqual([]);
    arena.leave(pieces[3] as Buffer);
    await Promise.all([large, small]);
    expect(entered).toEqual(['large 50', 'small 0']);
  });

  it('is not taken by one that is gone', async () => {
    const arena = new BodyArena(100);
    const piece = await arena.enter(80);
    const gone = new AbortController();
    const waiting = arena.enter(30, gone.signal);
    gone.abort();
    await expect(waiting).rejects.toMatchObject({ code: 'BODY_INCOMPLETE' });
    arena.leave(piece);
    expect(placeOf(await arena.enter(100))).toEqual([0, 100]);
  });

  it('is memory that threads share', async () => {
    expect((await new BodyArena(10).enter(5)).buffer).toBeInstanceOf(SharedArrayBuffer);
  });
});
