import { setTimeout as sleep } from 'node:timers/promises';
import type { DeadLetter } from './dead-letters.ts';
import type { DeadLetterOutcome } from './redrive-one.ts';
import { inOrderOfReceipt } from './select-due.ts';

export type RunOptions = {
  /** Dead-letter records per second; undefined: as fast as the brokers confirm. */
  readonly rate: number | undefined;
  /** Ends the run when the records in progress are done. */
  readonly signal: AbortSignal;
  /** Called before each record: throws where the right to go on has ended, as of a process that was frozen. */
  readonly check?: (() => void) | undefined;
  /** Called after each record with the outcomes so far. */
  readonly onProgress: (outcomes: readonly DeadLetterOutcome[]) => void;
};

type Run<T> = RunOptions & {
  /** What a batch needs: read once for all of it. Of no use any more when `ending` aborts. */
  readonly prepare: (batch: readonly DeadLetter[], ending: AbortSignal) => Promise<T>;
  /** @param passed called when the next one of its order may follow, at the latest when this resolves */
  readonly one: (deadLetter: DeadLetter, prepared: T, passed: () => void) => Promise<DeadLetterOutcome>;
  /**
   * The same for all whose order counts: one waits until the one before has passed, and stays where that has failed. null: it waits
   * for all before it.
   */
  readonly orderOf?: (deadLetter: DeadLetter, prepared: T) => string | null;
};

/**
 * Does the same to many dead-letter records. It starts them in the order in which they were received; one with an `orderOf` waits
 * for the one before it, and others may overtake it. It ends early when `signal` aborts, or when the brokers do not confirm one, as the
 * next would fail too; the rest are then `waiting`.
 */
export async function runInOrder<T>(
  selected: readonly DeadLetter[],
  { prepare, one, orderOf, rate, signal, check, onProgress }: Run<T>,
): Promise<DeadLetterOutcome[]> {
  const outcomes: DeadLetterOutcome[] = [];
  const failing = new AbortController();
  const ending = AbortSignal.any([signal, failing.signal]);
  const nextTurn = createRate(rate, ending);
  const mayGoOn = () => {
    try {
      check?.();
    } catch {
      failing.abort();
    }
    return !ending.aborted;
  };
  const run = async (deadLetter: DeadLetter, prepared: T, passed: () => void) => {
    const outcome = await one(deadLetter, prepared, passed);
    if (outcome.outcome === 'failed') failing.abort();
    outcomes.push(outcome);
    onProgress(outcomes);
    return outcome;
  };
  /** Orders of those that hold up what is behind them. */
  const held = new Set<string | null | undefined>();
  for (const batch of batchesOf(selected)) {
    if (ending.aborted) break;
    const prepared = await prepare(batch, ending);
    const latest = new Map<string | null | undefined, Promise<unknown>>();
    const inTurn = async (deadLetter: DeadLetter) => {
      const order = orderOf?.(deadLetter, prepared);
      const before = order === null ? Promise.all(latest.values()) : latest.get(order);
      const { promise, resolve: passed } = Promise.withResolvers<void>();
      if (order !== undefined) latest.set(order, promise);
      try {
        await before;
        await nextTurn();
        if (held.has(order) || !mayGoOn()) return;
        const { holdsUp } = await run(deadLetter, prepared, passed);
        if (holdsUp) held.add(order);
      } catch (error) {
        failing.abort();
        throw error;
      } finally {
        passed();
      }
    };
    const settled = await Promise.allSettled(batch.map(inTurn));
    const thrown = settled.find(({ status }) => status === 'rejected');
    if (thrown) throw (thrown as PromiseRejectedResult).reason;
  }
  const done = new Set(outcomes.map(({ deadLetter }) => deadLetter));
  const left = selected.filter((deadLetter) => !done.has(deadLetter));
  return [...outcomes, ...left.map((deadLetter) => ({ deadLetter, outcome: 'waiting' as const }))];
}

/** Bodies in memory, and records in progress, at a time. A single body may be larger. */
const MAX_BYTES = 64 * 1024 * 1024;
const MAX_DEAD_LETTERS = 500;

/**
 * Splits dead-letter records into batches that fit into memory, in the order in which their deliveries were received, so that
 * events of one entity keep their order.
 */
export function batchesOf(deadLetters: readonly DeadLetter[]): DeadLetter[][] {
  const batches: DeadLetter[][] = [];
  let bytes = 0;
  for (const deadLetter of inOrderOfReceipt(deadLetters)) {
    const last = batches.at(-1);
    if (last && last.length < MAX_DEAD_LETTERS && bytes + deadLetter.bytes <= MAX_BYTES)
      last.push(deadLetter);
    else {
      batches.push([deadLetter]);
      bytes = 0;
    }
    bytes += deadLetter.bytes;
  }
  return batches;
}

/** Resolves when the next one may start, or at once when the run ends: in the order of the calls, which timers do not keep. */
function createRate(rate: number | undefined, signal: AbortSignal): () => Promise<void> {
  let turn = performance.now();
  let before = Promise.resolve();
  return () => {
    if (rate === undefined) return Promise.resolve();
    const at = Math.max(turn, performance.now());
    turn = at + 1_000 / rate;
    before = before.then(async () => {
      const wait = at - performance.now();
      if (wait > 0) await sleep(wait, undefined, { signal }).catch(() => {});
    });
    return before;
  };
}
