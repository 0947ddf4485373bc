import { expect, it } from 'vitest';
import { memoryShares, minBudget, TakenBytes, WORK_FACTOR } from '../../../src/ingress/body/memory-shares.ts';
import { ingressSettings } from '../../../src/ingress/settings.ts';

const MIB = 1024 * 1024;

it('leaves room for one body to arrive while another is worked on, from the least budget on', () => {
  for (const most of [1, 10 * MIB, 50 * MIB]) {
    const { large, read, small, atWork } = memoryShares(minBudget(most), most);
    expect(read).toBeGreaterThanOrEqual(most);
    expect(large).toBeGreaterThanOrEqual(read);
    expect(large + small + WORK_FACTOR * atWork).toBeLessThanOrEqual(minBudget(most));
  }
});

it('shares the default budget so that twelve bodies of 50 MB are let in at once, and five of them read', () => {
  const body = 50_000_000;
  const { large, read } = memoryShares(Number(ingressSettings.memoryBudgetBytes.fallback), 50 * MIB);
  const atOnce = (bytes: number) => Math.floor(new TakenBytes(bytes).freeFor(body) / body);
  expect([atOnce(large), atOnce(read)]).toEqual([12, 5]);
});

it('lets eight of these in while a second one is worked on', () => {
  const body = 50_000_000;
  const { large, atWork } = memoryShares(Number(ingressSettings.memoryBudgetBytes.fallback), 50 * MIB);
  const taken = new TakenBytes(large);
  taken.add(WORK_FACTOR * atWork);
  expect(Math.floor(taken.freeFor(body) / body)).toBe(8);
});
