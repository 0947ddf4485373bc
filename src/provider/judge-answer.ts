/** Gets each request: its operation, how the answer was judged, and how long it took. */
export type OnRequest = (operation: string, outcome: string, seconds: number) => void;

/**
 * What the provider's answer means for the effect that was asked for:
 * - `done`: it is there
 * - `gone`: what it was asked about doesn't exist
 * - `refused`: it won't be there, however often it is asked for
 * - `later`: it isn't there; ask again
 * - `unauthorised`: it isn't there, the token was not taken
 * - `unknown`: it may be there: check before asking again
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
  // A redirect isn't followed: it would take the token elsewhere. 4xx is a refusal, 5xx may come after the effect.
  return status >= 300 && status < 500 ? 'refused' : 'unknown';
}

/** What was only accepted; and answers of gateways that gave up: what they have passed on may go on behind them. */
const NOT_THE_END: readonly (number | null)[] = [202, 502, 504];

/** Whether an effect may come after this answer. */
export const mayComeLater = ({ status, timedOutEarly }: Given): boolean =>
  timedOutEarly === true || NOT_THE_END.includes(status);

type Given = { readonly status: number | null; readonly timedOutEarly?: true };

/** A redirect isn't followed, and may be the answer to what was done: many a service answers a POST with one. */
export function isWithoutEffect({
  judgement,
  status,
}: {
  judgement: Judgement;
  status: number | null;
}): boolean {
  if (judgement === 'refused') return status !== null && status >= 400;
  return judgement === 'later' || judgement === 'unauthorised' || judgement === 'gone';
}
