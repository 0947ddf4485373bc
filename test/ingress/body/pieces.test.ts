import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Pieces } from '../../../src/ingress/body/pieces.ts';

describe('the pieces of a body', () => {
  it('are the bytes that came, in memory that is counted and hardly more than they', () => {
    const sizes = fc.array(fc.oneof(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 70_000 })), {
      maxLength: 60,
    });
    fc.assert(
      fc.property(sizes, (lengths) => {
        const pieces = new Pieces();
        const chunks = lengths.map((length, n) => Buffer.alloc(length, n + 1));
        const held = chunks.reduce((sum, chunk) => sum + pieces.push(Buffer.from(chunk)), 0);
        const all = Buffer.concat(chunks);
        expect(pieces.length).toBe(all.length);
        expect(held).toBeGreaterThanOrEqual(all.length);
        expect(held - all.length).toBeLessThanOrEqual(16 * 1024);
        const seen: Buffer[] = [];
        pieces.each((piece) => seen.push(Buffer.from(piece)));
        expect(Buffer.concat(seen).equals(all)).toBe(true);
        expect(pieces.join().equals(all)).toBe(true);
      }),
    );
  });

  it('of a body that comes byte by byte are few', () => {
    const pieces = new Pieces();
    for (let n = 0; n < 1_000_000; n++) pieces.push(Buffer.from([n]));
    let count = 0;
    pieces.each(() => count++);
    expect(count).toBeLessThan(100);
  });

  it('give their memory back when they are released', () => {
    const pieces = new Pieces();
    const chunk = Buffer.allocUnsafeSlow(70_000);
    pieces.push(chunk);
    pieces.release();
    expect([chunk.length, pieces.length]).toEqual([0, 0]);
  });
});
