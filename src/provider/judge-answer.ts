import type { HttpAnswer } from './http.ts';

/**
 * What the service's answer means for the effect that was asked for:
 * - `done`: it is there
 * - `gone`: what it was asked about doesn't exist
 * - `refused`: it won't be there, however often it is asked for
 * - `later`: it isn't there; ask again
 * - `unauthorised`: it isn't there, the token was not taken
 * - `unknown`: it may be there: look before asking again
 */
export type Judgement = 'done' | 'gone' | 'refused' | 'later' | 'unauthorised' | 'unknown';

/** Statuses whose meaning is certain; the interface shows none, so that these are HTTP's own. */
const JUDGEMENTS: Readonly<Record<number, Judgement>> = {
  200: 'done',
  201: 'done',
  202: 'done',
  204: 'done',
  401: 'unauthorised',
  404: 'gone',
  408: 'later',
  410: 'gone',
  425: 'later',
  429: 'later',
};

export function judgeStatus(status: number): Judgement {
  const known = JUDGEMENTS[status];
  if (known) return known;
  // A redirect isn't followed: it would take the token elsewhere. 4xx is the service's no, 5xx may come after the effect.
  return status >= 300 && status < 500 ? 'refused' : 'unknown';
}

/** RFC 9110's IMF-fixdate, and no more: `Date.parse` takes "-5" and "soon 1" for dates of the year 2001. */
const HTTP_DATE = /^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/;
const MOST_WAIT_MS = 5 * 60_000;

/** Milliseconds to wait, from Retry-After in seconds or as a date, bounded; null where it says nothing. */
export function retryAfterMs({ retryAfter }: Pick<HttpAnswer, 'retryAfter'>, now: number): number | null {
  const text = retryAfter?.trim() ?? '';
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : HTTP_DATE.test(text) ? Date.parse(text) - now : NaN;
  return Number.isNaN(ms) ? null : Math.min(Math.max(ms, 0), MOST_WAIT_MS);
}
