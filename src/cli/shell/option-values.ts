import { MAX_TIMER_MS } from '../../config/env.ts';
import { UsageError } from '../../core/errors.ts';
import { INSTANT_OR_AGE, parseInstantOrAge } from '../../core/instant.ts';

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

/** A time, or how long ago, as milliseconds since 1970. `given` is the option as the user wrote it. */
export function instant(given: string, text: string, now = Date.now()): number {
  const ms = parseInstantOrAge(text, now);
  if (ms === undefined) throw new UsageError(`${given}: give ${INSTANT_OR_AGE}.`);
  return ms;
}

/** The number, if the option is given. */
export const ifGiven = (text: string | undefined, read: (text: string) => number): number | undefined =>
  text === undefined ? undefined : read(text);

/** For options that may be repeated. No default value: the help would show it as `[]`. */
export const collect = (value: string, before: readonly string[] = []): string[] => [...before, value];
