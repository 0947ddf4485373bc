import { describe, expect, it } from 'vitest';
import type { Counted, Life } from '../../../src/cli/verify/compare-counters.ts';
import { followSpools, owedOf } from '../../../src/cli/verify/follow-spools.ts';

const START = Date.parse('2026-11-25T08:00:00Z');
const at = (minutes: number) => START + minutes * 60_000;
const counted = (minutes: number, acknowledged: number, written: number, spooled = 0): Counted => ({
  at: at(minutes),
  acknowledged,
  written,
  spooled,
});
const life = (first: Counted, last = first, more: Partial<Life> = {}): Life => ({
  process: 'pod-0',
  owner: 'pod-0',
  base: null,
  startedAt: first.at - 10_000,
  first,
  last,
  hasEnded: false,
  ...more,
});

const left = life(counted(0, 1_000, 700, 300), counted(10, 1_000, 700, 300), { hasEnded: true });
const states = (lives: readonly Life[]) => followSpools(lives).map(({ state }) => state);

describe('a spool that a process has left', () => {
  it.each([
    ['is found as it was', counted(12, 0, 0, 300)],
    ['is found and partly drained', counted(12, 0, 120, 180)],
    ['is found and drained, beside what arrives', counted(12, 50, 350, 0)],
    ['is found with rows that came after the last scrape', counted(12, 0, 0, 340)],
  ])('%s by the next process of the pod: well', (_, first) => {
    expect(followSpools([left, life(first)])).toEqual([
      expect.objectContaining({ check: 'spools', state: 'ok', finding: expect.stringContaining('300') }),
    ]);
  });

  it('is not found whole: unknown, as it can have been drained in between', () => {
    const [finding, ...others] = followSpools([left, life(counted(12, 0, 0, 0), counted(40, 5_000, 5_000))]);
    expect(others).toEqual([]);
    expect(finding).toMatchObject({
      state: 'unknown',
      finding:
        'pod-0: 300 deliveries were in its spool at 2026-11-25T08:10:00.000Z, and the process that replaced it at 2026-11-25T08:11:50.000Z accounts for 0: the other 300 were drained in between, or are lost',
      remedy: expect.stringContaining('replay'),
    });
    expect(followSpools([left, life(counted(12, 0, 0, 299))])[0]?.finding).toContain('the other 1 were');
  });

  it('is found and lost later: unknown', () => {
    expect(states([left, life(counted(12, 0, 0, 300), counted(40, 0, 0, 0))])).toEqual(['unknown']);
  });

  it('is not hidden by what the next process writes of its own', () => {
    expect(states([left, life(counted(12, 900, 900), counted(40, 5_000, 5_400))])).toEqual(['unknown']);
  });

  it('has nobody who took it over: unknown', () => {
    const other = life(counted(20, 5, 5), counted(50, 50, 50), { process: 'pod-1', owner: 'pod-1' });
    const [finding] = followSpools([left, other]);
    expect(finding).toMatchObject({ state: 'unknown' });
    expect(finding?.finding).toMatch(
      /^pod-0: 300 deliveries .* its last scrape, and no process has replaced it$/,
    );
  });

  it('is not left yet where the process is scraped still', () => {
    expect(followSpools([{ ...left, hasEnded: false }])).toEqual([]);
  });

  it('is compared with the next process, not with one after it, nor with itself scraped by another job', () => {
    const second = life(counted(12, 0, 0, 300), counted(13, 0, 300));
    const third = life(counted(20, 1, 1));
    expect(states([third, left, second])).toEqual(['ok']);
    const twice = { ...left, hasEnded: false };
    expect(states([twice, { ...twice, first: counted(1, 1_000, 700, 300) }])).toEqual([]);
  });

  it('can be told from others where the start of processes is not known', () => {
    const unnamed = { startedAt: null };
    expect(states([{ ...left, ...unnamed }, life(counted(12, 0, 0), undefined, unnamed)])).toEqual([
      'unknown',
    ]);
  });
});

it('rows that were there when the period began, and are neither written nor there at its end: unknown', () => {
  const base = counted(0, 1_000, 700, 300);
  const [finding] = followSpools([life(base, counted(60, 1_000, 700, 0), { base })]);
  expect(finding).toMatchObject({ state: 'unknown', remedy: expect.stringContaining('--since') });
  expect(finding?.finding).toContain('300 of them cannot be followed');
  expect(followSpools([life(base, counted(60, 1_000, 1_000), { base })])).toEqual([]);
});

it('a drain that is seen midway by the next process is well', () => {
  // 250 rows are confirmed and not yet removed.
  expect(states([left, life(counted(12, 0, 250, 300), counted(60, 0, 300))])).toEqual(['ok']);
});

describe('rows of a process that replaced another', () => {
  const one = life(counted(-30, 10, 9, 1), counted(0, 10, 9, 1), { hasEnded: true });

  it('that were there when the period began, long after, and are lost: unknown', () => {
    const base = counted(30, 1_000, 1_020, 300);
    const [finding, ...others] = followSpools([
      one,
      life(counted(1, 0, 0, 1), counted(90, 1_000, 1_020, 0), { base }),
    ]);
    expect([finding?.state, others]).toEqual(['unknown', []]);
    expect(finding?.finding).toContain('300 of them cannot be followed');
  });

  it('that are lost beyond those that were left to it: unknown', () => {
    const [finding, ...others] = followSpools([
      one,
      life(counted(1, 100, 121, 80), counted(90, 100, 121, 0)),
    ]);
    expect([finding?.state, others]).toEqual(['unknown', []]);
    expect(finding?.finding).toContain('79 of them cannot be followed');
  });
});

describe('the records that the topics must have', () => {
  it('are those acknowledged in the period, but for what is still in a spool', () => {
    const other = life(counted(10, 5, 5), counted(60, 25, 25), { owner: 'pod-1', base: counted(10, 5, 5) });
    expect(owedOf([life(counted(60, 100, 40, 60)), other])).toBe(40 + 20);
  });

  it('are also those that an ended process left in its spool and the next one does not have', () => {
    const acknowledged = { ...left, base: counted(0, 0, 0) };
    expect(owedOf([acknowledged, life(counted(12, 10, 10))])).toBe(1_010);
    expect(owedOf([acknowledged, life(counted(12, 10, 10, 300))])).toBe(710);
    expect(owedOf([acknowledged])).toBe(700);
  });

  it('are never fewer than none: what is in a spool can be older than the period', () => {
    expect(
      owedOf([life(counted(0, 0, 0, 300), counted(60, 10, 0, 310), { base: counted(0, 0, 0, 300) })]),
    ).toBe(0);
  });
});
