import { setTimeout as sleep } from 'node:timers/promises';
import type { Redelivery } from '../shell/open-redelivery.ts';
import { type Letters, portionsOf } from './dead-letter-topic.ts';
import type { DeadLetter } from './dead-letters.ts';
import { type LetterOutcome, redriveLetter } from './redrive-one.ts';

export type RedriveRun = {
  readonly letters: Letters;
  readonly redelivery: Redelivery;
  /** Letters a second; undefined for as fast as the brokers confirm. */
  readonly rate: number | undefined;
  /** Ends the run after what is under way. */
  readonly signal: AbortSignal;
  readonly onProgress: (outcomes: readonly LetterOutcome[]) => void;
};

/**
 * Redrives letters in the order of their receipt, and tells what became of each. It ends early, with what is left
 * `waiting`, when it is told to or the brokers do not confirm: those that come next would fare no better.
 */
export async function redriveLetters(
  selected: readonly DeadLetter[],
  { letters, redelivery, rate, signal, onProgress }: RedriveRun,
): Promise<LetterOutcome[]> {
  const outcomes: LetterOutcome[] = [];
  const failing = new AbortController();
  const ending = AbortSignal.any([signal, failing.signal]);
  const pace = createPace(rate, ending);
  const redrive = async (letter: DeadLetter, body: Buffer | undefined) => {
    const outcome = await redriveLetter(letter, body, redelivery);
    if (outcome.outcome === 'failed') failing.abort();
    outcomes.push(outcome);
    onProgress(outcomes);
  };
  for (const portion of portionsOf(selected)) {
    if (ending.aborted) break;
    const bodies = await letters.bodiesOf(portion.filter(({ missing }) => missing.length === 0));
    const underWay: Promise<void>[] = [];
    for (const letter of portion) {
      await pace();
      if (ending.aborted) break;
      underWay.push(redrive(letter, bodies.get(letter.at)));
    }
    await Promise.all(underWay);
  }
  const done = new Set(outcomes.map(({ letter }) => letter));
  const left = selected.filter((letter) => !done.has(letter));
  return [...outcomes, ...left.map((letter) => ({ letter, outcome: 'waiting' as const }))];
}

/** Resolves at the next letter's turn, or at once when the run is to end. */
function createPace(rate: number | undefined, signal: AbortSignal): () => Promise<void> {
  let turn = performance.now();
  return async () => {
    if (rate === undefined) return;
    const wait = turn - performance.now();
    turn = Math.max(turn, performance.now()) + 1_000 / rate;
    if (wait > 0) await sleep(wait, undefined, { signal }).catch(() => {});
  };
}
