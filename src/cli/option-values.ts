import { MOST_TIMER_MS } from '../core/env-settings.ts';
import { UsageError } from './shell.ts';

/** The values of options as numbers that can be kept: whatever else is given is a mistake in the call, exit code 2. */

/** @throws UsageError naming the option and what would be right */
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

/** Seconds, parts of one included, as milliseconds: no longer than a timer can be set to. */
export function secondsAsMs(option: string, text: string): number {
  const ms = Math.round(Number(text) * 1_000);
  if (!/^\d+(\.\d+)?$/.test(text) || ms < 1 || ms > MOST_TIMER_MS) {
    const most = Math.floor(MOST_TIMER_MS / 1_000);
    throw new UsageError(
      `${option} is ${JSON.stringify(text)}: give seconds, more than 0 and at most ${most}.`,
    );
  }
  return ms;
}

/** The number, where the option is given at all. */
export const ifGiven = (text: string | undefined, read: (text: string) => number): number | undefined =>
  text === undefined ? undefined : read(text);
