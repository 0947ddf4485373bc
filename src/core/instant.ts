/** ISO 8601 with an offset: without one the instant isn't known. */
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)$/;

/** The furthest instant that a Date can hold. */
const MAX_MS = 8.64e15;

/** Milliseconds since 1970 from ISO 8601 or from such a number; undefined where the value is neither. */
export function parseInstant(value: unknown): number | undefined {
  if (typeof value === 'number') {
    return Number.isSafeInteger(value) && Math.abs(value) <= MAX_MS ? value : undefined;
  }
  if (typeof value !== 'string' || !INSTANT.test(value) || !hasDay(value)) return undefined;
  const instant = Date.parse(value);
  return Number.isNaN(instant) ? undefined : instant;
}

const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds since 1970 from an instant, or from how long ago it was, such as 90s, 30m, 2h or 7d; undefined where it is neither. */
export function parseInstantOrAge(text: string, now = Date.now()): number | undefined {
  const [, count, unit = ''] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  return count === undefined ? parseInstant(text) : now - Number(count) * (UNIT_MS[unit] ?? 0);
}

/** ISO 8601 in UTC. What is no instant is said to be none: anyone who may write a record gives it its time. */
export const isoOf = (ms: number): string =>
  Math.abs(ms) <= MAX_MS ? new Date(ms).toISOString() : `no time (${ms})`;

/** How a person writes it. */
export const INSTANT_OR_AGE = 'a time such as 2026-11-21T08:00:00Z, or how long ago: 90s, 30m, 2h, 7d';

/** Date.parse makes the 2nd of March of the 30th of February. */
function hasDay(text: string): boolean {
  const [year = 0, month = 0, day = 0] = text.slice(0, 10).split('-').map(Number);
  return day <= new Date(Date.UTC(year, month, 0)).getUTCDate();
}
