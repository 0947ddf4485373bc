import { expect, it } from 'vitest';
import { memoryShares, minBudget, WORK_FACTOR } from '../../../src/ingress/body/memory-shares.ts';

const MIB = 1024 * 1024;

it('leaves room for one body to arrive while another is worked on, from the least budget on', () => {
  for (const most of [1, 10 * MIB, 50 * MIB]) {
    const { large, read, small, atWork } = memoryShares(minBudget(most), most);
    expect(read).toBeGreaterThanOrEqual(most);
    expect(large).toBeGreaterThanOrEqual(read);
    expect(large + small + WORK_FACTOR * atWork).toBeLessThanOrEqual(minBudget(most));
  }
});

it('shares the default budget so that twelve bodies of 50 MB are let in at once, and six of them read', () => {
  const { large, read } = memoryShares(864 * MIB, 50 * MIB);
  expect(large).toBeGreaterThan(12 * 50_000_000);
  expect(read).toBeGreaterThan(6 * 50_000_000);
  expect(read).toBeLessThan(7 * 50_000_000);
});
