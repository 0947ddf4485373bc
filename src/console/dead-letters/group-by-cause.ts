import { type DeadLetter, type DeadLetterState, stateOf } from '../../dead-letters/dead-letters.ts';
import { FOREIGN, stageOf } from '../../dead-letters/filter.ts';
import { DEAD_LETTER_HEADERS as NAMES } from '../../delivery/dead-letter/dead-letter-headers.ts';

/** Dead-letter records of one cause. */
export type DeadLetterGroup = {
  /** FOREIGN of records that Hookline did not write: those are one group. */
  readonly stage: string;
  readonly code: string | null;
  readonly ref: string | null;
  readonly states: Readonly<Record<DeadLetterState, number>>;
  /** When the oldest one that is open or incomplete was written, in milliseconds since 1970; null where none is. */
  readonly oldestAt: number | null;
  readonly latestAt: number;
  /** How many were written within the last hour, day and week. */
  readonly hour: number;
  readonly day: number;
  readonly week: number;
};

const HOUR_MS = 3_600_000;

/** Groups by stage, code and ref: those with most that is open first. */
export function groupByCause(deadLetters: readonly DeadLetter[], now: number): DeadLetterGroup[] {
  const causeOf = ({ headers }: DeadLetter) => {
    const stage = stageOf(headers[NAMES.stage]);
    const about = stage === FOREIGN ? [] : [headers[NAMES.code], headers[NAMES.ref]];
    return JSON.stringify([stage, ...about.map((value) => value ?? null)]);
  };
  const groups = [...Map.groupBy(deadLetters, causeOf)].map(([cause, of]) => {
    const [stage, code = null, ref = null] = JSON.parse(cause) as [string, ...(string | null)[]];
    return { stage, code, ref, ...countsOf(of, now) };
  });
  return groups.sort((a, b) => openIn(b) - openIn(a) || b.latestAt - a.latestAt);
}

/** What somebody still has to look at. */
export const openIn = ({ states }: Pick<DeadLetterGroup, 'states'>): number =>
  states.open + states.incomplete;

function countsOf(deadLetters: readonly DeadLetter[], now: number) {
  const states = { open: 0, redriven: 0, dismissed: 0, incomplete: 0 };
  const within = { hour: 0, day: 0, week: 0 };
  let oldestAt: number | null = null;
  let latestAt = 0;
  for (const deadLetter of deadLetters) {
    const { time } = deadLetter;
    const state = stateOf(deadLetter);
    states[state]++;
    if (state === 'open' || state === 'incomplete') oldestAt = Math.min(oldestAt ?? time, time);
    latestAt = Math.max(latestAt, time);
    if (now - time < HOUR_MS) within.hour++;
    if (now - time < 24 * HOUR_MS) within.day++;
    if (now - time < 7 * 24 * HOUR_MS) within.week++;
  }
  return { states, oldestAt, latestAt, ...within };
}
