import fc from 'fast-check';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { batchesOf, runInOrder } from '../../src/dead-letters/run-in-order.ts';
import { deadLetter } from '../support/dead-letter.ts';

it.each([3, 4, 5, 6, 7, 8])(
  'starts records in their order at a rate, where time jumps at look %i',
  async (n) => {
    const now = performance.now.bind(performance);
    let looks = 0;
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + (++looks > n ? 50 : 0));
    onTestFinished(() => clock.mockRestore());
    const all = Array.from({ length: 6 }, (_, at) => deadLetter({ at: `0:${at}` }));
    const started: string[] = [];
    await runInOrder(all, {
      rate: 500,
      signal: new AbortController().signal,
      onProgress() {},
      prepare: async () => null,
      async one(one) {
        started.push(one.at);
        return { deadLetter: one, outcome: 'stored', to: 't[0]@1' };
      },
    });
    expect(started).toEqual(all.map(({ at }) => at));
  },
);

describe('batches of dead-letter records', () => {
  it('contain each one once, in the order of receipt, within the limits', () => {
    const wanted = fc.record({
      receivedAt: fc.integer({ min: 1, max: 1_000 }),
      bytes: fc.nat(80 * 1024 * 1024),
    });
    fc.assert(
      fc.property(fc.array(wanted, { maxLength: 40 }), (all) => {
        const deadLetters = all.map((one) => deadLetter(one));
        const batches = batchesOf(deadLetters);
        const flat = batches.flat().map(({ headers }) => Number(headers['hookline.received-at']));
        expect(flat).toEqual(all.map(({ receivedAt }) => receivedAt).sort((a, b) => a - b));
        expect(new Set(batches.flat())).toEqual(new Set(deadLetters));
        for (const batch of batches) {
          const bytes = batch.reduce((sum, one) => sum + one.bytes, 0);
          expect(batch.length === 1 || bytes <= 64 * 1024 * 1024).toBe(true);
        }
      }),
    );
  });

  it('are limited in number too, and use the time of the record if there is no time of receipt', () => {
    const many = Array.from({ length: 1_200 }, (_, n) => deadLetter({ time: 5_000 - n, bytes: 1 }));
    const batches = batchesOf(many);
    expect(batches.map((batch) => batch.length)).toEqual([500, 500, 200]);
    expect(batches[0]?.[0]?.time).toBe(5_000 - 1_199);
  });
});
