import { DEAD_LETTER_HEADERS as NAMES } from '../delivery/dead-letter/dead-letter-headers.ts';
import type { DeadLetterOutcome, Outcome } from './redrive-one.ts';

/** Outcomes for `--json`. */
export function outcomeRows(outcomes: readonly DeadLetterOutcome[]) {
  return outcomes.map(({ deadLetter, outcome, eventId, to, code, message }) => ({
    at: deadLetter.at,
    outcome,
    eventId: eventId ?? deadLetter.headers[NAMES.eventId] ?? null,
    to: to ?? null,
    code: code ?? null,
    message: message ?? null,
  }));
}

const TEXTS: Readonly<Record<Outcome, readonly [done: string, dryRun: string]>> = {
  stored: ['stored', 'would be stored'],
  'dead-lettered': ['dead-lettered again', 'would be dead-lettered again'],
  refused: ['cannot be redriven', 'cannot be redriven'],
  dismissed: ['dismissed', 'would be dismissed'],
  failed: ['failed', 'failed'],
  waiting: ['not tried', 'not tried'],
};

export const outcomeText = (outcome: Outcome, dryRun: boolean): string => TEXTS[outcome][dryRun ? 1 : 0];

/** Rows of a summary: with messages that name something of their own there could be as many as records. */
const MAX_KINDS = 20;

/** Outcomes as a table: one row for each kind, what failed and the most frequent first, with the positions of the first few. */
export function summaryRows(outcomes: readonly DeadLetterOutcome[], dryRun: boolean) {
  const kinds = Map.groupBy(outcomes, ({ outcome, to, code, message }) =>
    [outcome, outcome === 'stored' ? topicOf(to) : (code ?? ''), message ?? ''].join('\n'),
  );
  const rowOf = (outcome: Outcome, alike: readonly DeadLetterOutcome[], where: string, why: string) => ({
    records: alike.length,
    outcome: outcomeText(outcome, dryRun),
    where,
    why,
    which: positionsOf(alike),
  });
  // What ended the run comes first: it is a single record.
  const isFailure = ([first]: readonly DeadLetterOutcome[]) => Number(first?.outcome === 'failed');
  const sorted = [...kinds].sort(([, a], [, b]) => isFailure(b) - isFailure(a) || b.length - a.length);
  const rows = sorted.slice(0, MAX_KINDS).map(([kind, alike]) => {
    const [outcome, where = '', why = ''] = kind.split('\n');
    return rowOf(outcome as Outcome, alike, where, why);
  });
  const rest = sorted.slice(MAX_KINDS).flatMap(([, alike]) => alike);
  const others = [...Map.groupBy(rest, ({ outcome }) => outcome)];
  return [
    ...rows,
    ...others.map(([outcome, alike]) => rowOf(outcome, alike, '', 'for other reasons: --json lists each')),
  ];
}

/** Such as "7 of 9: 5 stored, 2 failed." */
export function progressLine(outcomes: readonly DeadLetterOutcome[], total: number, dryRun: boolean): string {
  const counts = Object.entries(TEXTS).flatMap(([outcome, texts]) => {
    const count = outcomes.filter((one) => one.outcome === outcome).length;
    return count > 0 ? [`${count} ${texts[dryRun ? 1 : 0]}`] : [];
  });
  const tried = outcomes.filter(({ outcome }) => outcome !== 'waiting').length;
  return `${tried} of ${total}${counts.length > 0 ? `: ${counts.join(', ')}` : ''}.`;
}

const topicOf = (to = '') => to.replace(/\[\d+\]@\d+$/, '');

const MAX_POSITIONS = 3;

function positionsOf(alike: readonly DeadLetterOutcome[]): string {
  const positions = alike.slice(0, MAX_POSITIONS).map(({ deadLetter }) => deadLetter.at);
  return alike.length > MAX_POSITIONS ? `${positions.join(' ')} …` : positions.join(' ');
}
