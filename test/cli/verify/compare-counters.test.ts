import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Counted, countLife, shrinkageOf, totalsOf } from '../../../src/cli/verify/compare-counters.ts';

const START = Date.parse('2026-11-25T08:00:00Z');
const counted = (minutes: number, acknowledged: number, written: number, spooled = 0): Counted => ({
  at: START + minutes * 60_000,
  acknowledged,
  written,
  spooled,
});
const lifeOf = (base: Counted | null, last: Counted, first = base ?? last) => ({
  process: 'pod-0',
  owner: 'pod-0',
  startedAt: START,
  hasEnded: false,
  base,
  first,
  last,
});
const life = (...scrapes: Parameters<typeof lifeOf>) => countLife(lifeOf(...scrapes));

describe('the counters of a process', () => {
  it('agree where each acknowledged webhook is written, or in the spool', () => {
    expect(life(null, counted(60, 100, 100))).toMatchObject({ acknowledged: 100, written: 100, missing: 0 });
    expect(life(null, counted(60, 100, 40, 60))).toMatchObject({ spooled: 60, missing: 0 });
    expect(life(counted(0, 7, 9), counted(60, 107, 109))).toMatchObject({ acknowledged: 100, missing: 0 });
  });

  it('agree where more is written than acknowledged: repeats, pieces, events that were answered 503', () => {
    expect(life(null, counted(60, 100, 150)).missing).toBe(0);
  });

  it('tell of one that is missing since the start', () => {
    expect(life(null, counted(60, 100, 99)).missing).toBe(1);
    expect(life(counted(0, 10, 10), counted(60, 100, 39, 60)).missing).toBe(1);
  });

  it('tell of what is missing in the period, although more was written before', () => {
    expect(life(counted(0, 1_000, 1_500), counted(60, 4_600, 5_090)).missing).toBe(10);
  });

  it('do not take for missing what was in progress at the first scrape', () => {
    // 3,600 an hour are one a second.
    expect(life(counted(0, 1_000, 1_501), counted(60, 4_600, 5_100)).missing).toBe(0);
  });

  it('are unclear about rows that the spool had at the first scrape: written and not yet removed, or lost', () => {
    const mid = counted(0, 500, 400, 300);
    const end = counted(60, 500, 500);
    expect(life(mid, end).missing).toBe(0);
    expect(shrinkageOf(lifeOf(mid, end))).toEqual({ by: 200, isUnclear: true });
    expect(shrinkageOf(lifeOf(mid, counted(60, 500, 700)))).toEqual({ by: 0, isUnclear: false });
  });

  it('tell of more than the rows that the spool had at the first scrape', () => {
    expect(life(counted(0, 500, 700, 0), counted(60, 500, 500)).missing).toBe(200);
    expect(life(counted(0, 500, 700, 100), counted(60, 500, 500)).missing).toBe(300);
  });

  it('tell of what a process has lost since its first scrape, although it began within the period', () => {
    expect(life(null, counted(60, 10, 320), counted(1, 0, 310)).missing).toBe(0);
    expect(life(null, counted(60, 100, 310), counted(1, 0, 310)).missing).toBe(100);
  });

  it('never tell of anything missing where nothing is', () => {
    const step = fc.record({
      acknowledged: fc.nat(50),
      spooled: fc.nat(50),
      drained: fc.nat(80),
      more: fc.nat(5),
    });
    fc.assert(
      fc.property(fc.array(step, { minLength: 2, maxLength: 20 }), fc.boolean(), (steps, isWhole) => {
        let now = counted(0, 0, 0);
        const scrapes = steps.map(({ acknowledged, spooled, drained, more }, n) => {
          const gone = Math.min(drained, now.spooled + spooled);
          now = counted(
            n + 1,
            now.acknowledged + acknowledged + spooled,
            now.written + acknowledged + gone + more,
            now.spooled + spooled - gone,
          );
          return now;
        });
        const [first] = scrapes;
        expect(life(isWhole ? null : first!, now).missing).toBe(0);
      }),
    );
  });
});

it('of several processes are added', () => {
  const counts = [life(null, counted(60, 100, 40, 60)), life(counted(10, 5, 5), counted(60, 25, 25))];
  expect(totalsOf(counts)).toEqual({ since: START, acknowledged: 120, written: 60, missing: 0 });
});
