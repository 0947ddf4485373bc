import { setTimeout as sleep } from 'node:timers/promises';

/** Waits until `look` returns something, and returns it; fails after `deadlineMs`, saying what it waited for. */
export async function until<T>(
  what: string,
  look: () => T | undefined | null | false | Promise<T | undefined | null | false>,
  deadlineMs = 10_000,
): Promise<T> {
  const end = Date.now() + deadlineMs;
  for (;;) {
    const seen = await look();
    if (seen !== undefined && seen !== null && seen !== false) return seen;
    if (Date.now() > end) throw new Error(`waited ${deadlineMs} ms in vain until ${what}`);
    await sleep(5);
  }
}
