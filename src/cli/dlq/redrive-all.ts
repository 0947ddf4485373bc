import { setTimeout as sleep } from 'node:timers/promises';
import type { Redelivery } from '../shell/open-redelivery.ts';
import { batchesOf, type DeadLetterTopic } from './dead-letter-topic.ts';
import type { DeadLetter } from './dead-letters.ts';
import { type RedriveOutcome, redriveOne } from './redrive-one.ts';

export type RedriveRun = {
  readonly topic: DeadLetterTopic;
  readonly redelivery: Redelivery;
  /** Dead-letter records per second; undefined: as fast as the brokers confirm. */
  readonly rate: number | undefined;
  /** Ends the run when the records in progress are done. */
  readonly signal: AbortSignal;
  readonly onProgress: (outcomes: readonly RedriveOutcome[]) => void;
};

/**
 * Redrives dead-letter records in the order in which they were received, and returns the outcome of each. It ends early when
 * `signal` aborts, or when the brokers do not confirm one, as the next would fail too; the rest are then `waiting`.
 */
export async function redriveAll(
  selected: readonly DeadLetter[],
  { topic, redelivery, rate, signal, onProgress }: RedriveRun,
): Promise<RedriveOutcome[]> {
  const outcomes: RedriveOutcome[] = [];
  const failing = new AbortController();
  const ending = AbortSignal.any([signal, failing.signal]);
  const nextTurn = createRate(rate, ending);
  const redrive = async (deadLetter: DeadLetter, body: Buffer | Error | undefined) => {
    const outcome = await redriveOne(deadLetter, body, redelivery);
    if (outcome.outcome === 'failed') failing.abort();
    outcomes.push(outcome);
    onProgress(outcomes);
  };
  for (const batch of batchesOf(selected)) {
    if (ending.aborted) break;
    const bodies = await topic.bodiesOf(batch.filter(({ missing }) => missing.length === 0));
    const inProgress: Promise<void>[] = [];
    for (const deadLetter of batch) {
      await nextTurn();
      if (ending.aborted) break;
      inProgress.push(redrive(deadLetter, bodies.get(deadLetter.at)));
    }
    await Promise.all(inProgress);
  }
  const done = new Set(outcomes.map(({ deadLetter }) => deadLetter));
  const left = selected.filter((deadLetter) => !done.has(deadLetter));
  return [...outcomes, ...left.map((deadLetter) => ({ deadLetter, outcome: 'waiting' as const }))];
}

/** Resolves when the next one may start, or at once when the run ends. */
function createRate(rate: number | undefined, signal: AbortSignal): () => Promise<void> {
  let turn = performance.now();
  return async () => {
    if (rate === undefined) return;
    const wait = turn - performance.now();
    turn = Math.max(turn, performance.now()) + 1_000 / rate;
    if (wait > 0) await sleep(wait, undefined, { signal }).catch(() => {});
  };
}
