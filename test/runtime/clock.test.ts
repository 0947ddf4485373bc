import { describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '../../src/runtime/clock.ts';
import { manualClock } from '../support/manual-clock.ts';

/** Both must mean the same, or a simulation shows what never happens. */
const manual = manualClock();
const clocks: [string, Clock, (ms: number) => Promise<unknown>][] = [
  ['the system clock', systemClock, (ms) => new Promise((resolve) => setTimeout(resolve, ms))],
  ['the manual clock', manual, (ms) => manual.advance(ms)],
];

describe.each(clocks)('%s', (_, clock, pass) => {
  it('never goes back', async () => {
    const before = clock.now();
    await pass(2);
    expect(clock.now()).toBeGreaterThan(before);
  });

  it('tells the time of day', () => {
    expect(new Date(clock.wall()).getUTCFullYear()).toBeGreaterThanOrEqual(2026);
  });

  it('draws numbers from 0 to below 1', () => {
    expect(clock.random()).toBeGreaterThanOrEqual(0);
    expect(clock.random()).toBeLessThan(1);
  });

  it('sleeps, and no shorter than asked', async () => {
    const start = clock.now();
    const sleeping = clock.sleep(20).then(() => clock.now() - start);
    await pass(100);
    // Node's timers count whole milliseconds, of an instant that may lie up to one before.
    expect(await sleeping).toBeGreaterThanOrEqual(19);
  });

  it('rejects a sleep with the reason of its signal, before or during it', async () => {
    const ended = AbortSignal.abort(new Error('over before'));
    await expect(clock.sleep(60_000, { signal: ended })).rejects.toThrow('over before');
    const ending = new AbortController();
    const sleeping = clock.sleep(60_000, { signal: ending.signal });
    ending.abort(new Error('over now'));
    await expect(sleeping).rejects.toThrow('over now');
  });

  it('calls once, or again and again, until it is cancelled', async () => {
    const calls: string[] = [];
    const never = clock.after(10, () => calls.push('never'));
    never.cancel();
    clock.after(10, () => calls.push('once'));
    const every = clock.every(20, () => calls.push('every'));
    while (calls.filter((call) => call === 'every').length < 2) await pass(20);
    every.cancel();
    const count = calls.length;
    await pass(60);
    expect(calls.length).toBe(count);
    expect(calls.filter((call) => call === 'once')).toEqual(['once']);
    expect(calls).not.toContain('never');
  });
});
