import { describe, expect, it } from 'vitest';
import { ProduceFaults } from '../proxy/produce-faults.ts';
import { createRandom } from '../random.ts';
import { SCHEDULES } from './schedules.ts';

const plansOf = (seed: number) => SCHEDULES.map(({ name, plan }) => plan(createRandom(seed, name), 1));

describe('a seed', () => {
  it('gives the same faults again, and another seed others', () => {
    expect(plansOf(7)).toEqual(plansOf(7));
    expect(plansOf(7)).not.toEqual(plansOf(8));
  });

  it('decides which responses are hit, for each client by itself', () => {
    const fates = (others: number) => {
      const faults = new ProduceFaults(7, 'broker-1');
      faults.set({ kind: 'drop', percent: 10 });
      return Array.from({ length: 500 }, () => {
        for (let n = 0; n < others; n++) faults.choose('somebody else');
        return faults.choose('hookline-ingress') !== null;
      });
    };
    expect(fates(3)).toEqual(fates(0));
    const hit = fates(0).filter(Boolean).length;
    expect(hit).toBeGreaterThan(25);
    expect(hit).toBeLessThan(80);
  });
});
