import { MAX_TIMER_MS } from '../../config/env.ts';
import { parseInstant } from '../../core/instant.ts';
import { UsageError } from './shell.ts';

/** Values of options. Anything else is wrong usage, exit code 2. */

/** @throws UsageError that names the option and what is accepted */
export function wholeNumber(
  option: string,
  text: string,
  { min = 0, max = Number.MAX_SAFE_INTEGER } = {},
): number {
  const number = Number(text);
  if (!/^\d+$/.test(text) || number < min || number > max) {
    const upTo = max === Number.MAX_SAFE_INTEGER ? '' : ` to ${max}`;
    throw new UsageError(`${option} is ${JSON.stringify(text)}: give a whole number from ${min}${upTo}.`);
  }
  return number;
}

/** Seconds, also fractions, as milliseconds; at most what a timer of Node.js can wait. */
export function secondsAsMs(option: string, text: string): number {
  const ms = Math.round(Number(text) * 1_000);
  if (!/^\d+(\.\d+)?$/.test(text) || ms < 1 || ms > MAX_TIMER_MS) {
    const most = Math.floor(MAX_TIMER_MS / 1_000);
    throw new UsageError(
      `${option} is ${JSON.stringify(text)}: give seconds, more than 0 and at most ${most}.`,
    );
  }
  return ms;
}

const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A time, or how long ago, as milliseconds since 1970. `given` is the option as the user wrote it. */
export function instant(given: string, text: string, now = Date.now()): number {
  const [, count, unit = ''] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  const ms = count === undefined ? parseInstant(text) : now - Number(count) * (UNIT_MS[unit] ?? 0);
  if (ms === undefined) {
    throw new UsageError(
      `${given}: give a time such as 2026-11-21T08:00:00Z, or how long ago: 90s, 30m, 2h, 7d.`,
    );
  }
  return ms;
}

/** The number, if the option is given. */
export const ifGiven = (text: string | undefined, read: (text: string) => number): number | undefined =>
  text === undefined ? undefined : read(text);

/** For options that may be repeated. No default value: the help would show it as `[]`. */
export const collect = (value: string, before: readonly string[] = []): string[] => [...before, value];
