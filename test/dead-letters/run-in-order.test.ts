import { expect, it, onTestFinished, vi } from 'vitest';
import { runInOrder } from '../../src/dead-letters/run-in-order.ts';
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
      ...{ rate: 500, signal: new AbortController().signal, onProgress() {} },
      prepare: async () => null,
      async one(one) {
        started.push(one.at);
        return { deadLetter: one, outcome: 'stored', to: 't[0]@1' };
      },
    });
    expect(started).toEqual(all.map(({ at }) => at));
  },
);
