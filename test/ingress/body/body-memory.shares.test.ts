import { expect, it } from 'vitest';
import { memoryShares, minBudget, WORK_FACTOR } from '../../../src/ingress/body/body-memory.ts';

const MIB = 1024 * 1024;

it('leaves room for one body to arrive while another is worked on, from the least budget on', () => {
  for (const most of [1, 10 * MIB, 50 * MIB]) {
    const { large, small, atWork } = memoryShares(minBudget(most), most);
    expect(large).toBeGreaterThanOrEqual(most);
    expect(large + small + WORK_FACTOR * atWork).toBeLessThanOrEqual(minBudget(most));
  }
});

it('shares the default budget so that twelve bodies of 50 MB are let in at once', () => {
  expect(memoryShares(864 * MIB, 50 * MIB).large).toBeGreaterThan(12 * 50_000_000);
});
