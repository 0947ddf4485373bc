import { DEAD_LETTER_HEADERS as NAMES } from '../../delivery/dead-letter/store-dead-letter.ts';
import type { LetterOutcome, Outcome } from './redrive-one.ts';

/** What became of each letter, for programs. */
export function outcomeRows(outcomes: readonly LetterOutcome[]) {
  return outcomes.map(({ letter, outcome, eventId, to, code, message }) => ({
    at: letter.at,
    outcome,
    eventId: eventId ?? letter.headers[NAMES.eventId] ?? null,
    to: to ?? null,
    code: code ?? null,
    message: message ?? null,
  }));
}

const WORDS: Readonly<Record<Outcome, readonly [done: string, wouldBe: string]>> = {
  stored: ['stored', 'would be stored'],
  parked: ['a dead letter again', 'would be a dead letter again'],
  refused: ['can not be redriven', 'can not be redriven'],
  failed: ['failed, stays as it was', 'failed'],
  waiting: ['not tried', 'not tried'],
};

/** For people: as many lines as there are kinds of ends, with the first few letters of each. */
export function summaryRows(outcomes: readonly LetterOutcome[], dryRun: boolean) {
  const kinds = Map.groupBy(outcomes, ({ outcome, to, code, message }) =>
    [outcome, outcome === 'stored' ? topicOf(to) : (code ?? ''), message ?? ''].join('\n'),
  );
  return [...kinds].map(([kind, alike]) => {
    const [outcome, where, why] = kind.split('\n');
    return {
      letters: alike.length,
      outcome: WORDS[outcome as Outcome][dryRun ? 1 : 0],
      where,
      why,
      which: namesOf(alike),
    };
  });
}

/** How far it came, in a sentence. */
export function progressLine(outcomes: readonly LetterOutcome[], total: number, dryRun: boolean): string {
  const counts = Object.entries(WORDS).flatMap(([outcome, words]) => {
    const count = outcomes.filter((one) => one.outcome === outcome).length;
    return count > 0 ? [`${count} ${words[dryRun ? 1 : 0]}`] : [];
  });
  const tried = outcomes.filter(({ outcome }) => outcome !== 'waiting').length;
  return `${tried} of ${total}${counts.length > 0 ? `: ${counts.join(', ')}` : ''}.`;
}

const topicOf = (to = '') => to.replace(/\[\d+\]@\d+$/, '');

const NAMED = 3;

function namesOf(alike: readonly LetterOutcome[]): string {
  const names = alike.slice(0, NAMED).map(({ letter }) => letter.at);
  return alike.length > NAMED ? `${names.join(' ')} …` : names.join(' ');
}
