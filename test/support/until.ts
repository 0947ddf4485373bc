import { setTimeout as sleep } from 'node:timers/promises';

/** Between two looks: a tenth of the time waited so far, so that a look at a broker doesn't keep it busy. */
const PAUSE_MS = { shortest: 5, longest: 100 };

/** Waits until `look` returns something, and returns it; fails after `deadlineMs`, saying what it waited for. */
export async function until<T>(
  what: string,
  look: () => T | undefined | null | false | Promise<T | undefined | null | false>,
  deadlineMs = 10_000,
): Promise<T> {
  const begin = Date.now();
  for (;;) {
    const seen = await look();
    if (seen !== undefined && seen !== null && seen !== false) return seen;
    const waitedMs = Date.now() - begin;
    if (waitedMs > deadlineMs) throw new Error(`waited ${deadlineMs} ms in vain until ${what}`);
    await sleep(Math.min(Math.max(waitedMs / 10, PAUSE_MS.shortest), PAUSE_MS.longest));
  }
}
