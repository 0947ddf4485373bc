import { DEAD_LETTER_HEADERS as NAMES } from '../delivery/dead-letter/dead-letter-headers.ts';
import { type DeadLetter, stateOf } from './dead-letters.ts';
import { type DeadLetterFilter, FOREIGN, stageOf } from './filter.ts';

/** What a redrive or a dismissal is about, and how many that match are not. */
export type Due = {
  /** The one that was received first comes first. */
  readonly due: readonly DeadLetter[];
  /** Commands and records of others, which the filter does not ask for. */
  readonly unasked: number;
  /** Redriven or dismissed before. */
  readonly done: number;
};

export type DueOptions = {
  /** Includes those that were redriven or dismissed before. */
  readonly again?: boolean;
  readonly limit?: number | undefined;
  /** Includes records that Hookline did not write, where the filter names their position. */
  readonly foreign?: boolean;
};

/**
 * Selects from all dead-letter records, sorted by time. Commands only if the filter asks for them: the team may no longer
 * want what an old command does.
 */
export function selectDue(
  all: readonly DeadLetter[],
  filter: DeadLetterFilter,
  { again = false, limit, foreign = false }: DueOptions = {},
): Due {
  const isWanted = ({ headers }: DeadLetter) => {
    const stage = stageOf(headers[NAMES.stage]);
    if (stage === FOREIGN) return foreign && filter.names('at');
    return stage !== 'COMMAND' || filter.names('stage') || filter.names('at');
  };
  const isOpen = (deadLetter: DeadLetter) => ['open', 'incomplete'].includes(stateOf(deadLetter));
  const matching = all.filter((deadLetter) => filter.matches(deadLetter));
  const wanted = matching.filter(isWanted);
  const due = wanted.filter((deadLetter) => again || isOpen(deadLetter));
  return {
    // What is left out must not have come before what is redriven.
    due: inOrderOfReceipt(due).slice(0, limit),
    unasked: matching.length - wanted.length,
    done: wanted.length - due.length,
  };
}

/** The order in which their deliveries were received: the spool is drained later than what came after it fails. */
export function inOrderOfReceipt(deadLetters: readonly DeadLetter[]): DeadLetter[] {
  // Made once: of each comparison the headers would be unpacked.
  const times = Float64Array.from(deadLetters, receivedAt);
  const order = deadLetters.map((_, n) => n).sort((a, b) => (times[a] ?? 0) - (times[b] ?? 0));
  return order.map((n) => deadLetters[n] as DeadLetter);
}

const receivedAt = ({ headers, time }: DeadLetter): number => Number(headers[NAMES.receivedAt]) || time;
