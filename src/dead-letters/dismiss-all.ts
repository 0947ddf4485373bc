import { HooklineError, UsageError } from '../core/errors.ts';
import type { OutgoingRecord, Position } from '../core/record.ts';
import type { DeadLetter } from './dead-letters.ts';
import { dismissalMarkers } from './markers.ts';
import type { DeadLetterOutcome } from './redrive-one.ts';
import { type RunOptions, runInOrder } from './run-in-order.ts';

/** Why dead-letter records need nobody any more, and who says so. Both are headers of the markers: anybody who reads the topic sees them. */
export type Dismissal = { readonly reason: string; readonly by: string };

const MAX_REASON = 500;
const MAX_BY = 100;

/**
 * Checks what somebody gave.
 * @throws UsageError where one is missing, too long (500 and 100 characters), or has control characters
 */
export const parseDismissal = ({ reason = '', by = '' }: Partial<Dismissal>): Dismissal => ({
  reason: line(
    '--reason',
    reason,
    MAX_REASON,
    'say why, such as --reason "test data of 12 March, confirmed by the ledger team"',
  ),
  by: line('--by', by, MAX_BY, 'give the name of the person who dismisses them'),
});

function line(option: string, text: string, max: number, advice: string): string {
  const trimmed = text.trim();
  if (trimmed === '') throw new UsageError(`${option} is missing: ${advice}.`);
  const length = [...trimmed].length;
  if (length > max) throw new UsageError(`${option} has ${length} characters: give at most ${max}.`);
  if (/\p{Cc}/u.test(trimmed))
    throw new UsageError(`${option} has control characters: give one line of text.`);
  return trimmed;
}

export type DismissRun = RunOptions & {
  readonly dismissal: Dismissal;
  readonly deadLetterTopic: string;
  readonly publish: (record: OutgoingRecord) => Promise<Position>;
  /** Publishes nothing. */
  readonly dryRun?: boolean;
};

/**
 * Marks dead-letter records as dismissed. The records themselves stay until retention deletes them, and can still be
 * redriven on purpose.
 */
export const dismissAll = (
  selected: readonly DeadLetter[],
  { dismissal, deadLetterTopic, publish, dryRun = false, ...options }: DismissRun,
): Promise<DeadLetterOutcome[]> =>
  runInOrder(selected, {
    ...options,
    prepare: async () => {},
    async one(deadLetter) {
      try {
        const markers = dryRun ? [] : dismissalMarkers(deadLetter, dismissal, deadLetterTopic);
        for (const marker of markers) await publish(marker);
        return { deadLetter, outcome: 'dismissed' };
      } catch (error) {
        const code = error instanceof HooklineError ? { code: error.code } : {};
        return { deadLetter, outcome: 'failed', ...code, message: (error as Error).message };
      }
    },
  });
