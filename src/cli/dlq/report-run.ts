import { UsageError } from '../../core/errors.ts';
import { parseFilter } from '../../dead-letters/filter.ts';
import { outcomeRows, progressLine, summaryRows } from '../../dead-letters/outcomes.ts';
import type { DeadLetterOutcome } from '../../dead-letters/redrive-one.ts';
import type { Due } from '../../dead-letters/select-due.ts';
import { ifGiven, wholeNumber } from '../shell/option-values.ts';
import { printRows } from '../shell/print-rows.ts';
import type { ExitCode, Shell } from '../shell/shell.ts';
import type { DlqRun } from './run-redrive.ts';

/** What `hookline dlq redrive` and `hookline dlq dismiss` both take. */
export type RunOptions = {
  filter?: string[];
  dryRun?: boolean;
  rate?: string;
  limit?: string;
  json?: boolean;
};

const PROGRESS_EVERY_MS = 1_000;

/**
 * A run as the options ask for it, which says what it does: at most one line per second, on standard error.
 * @param advice what to do about records that were redriven or dismissed before
 */
export function reportedRun(shell: Shell, options: RunOptions, advice = '') {
  const isDry = options.dryRun === true;
  let total = 0;
  let printedAt = performance.now();
  const run: Omit<DlqRun, 'kafka'> = {
    shell,
    isDry,
    filter: parseFilter(options.filter),
    rate: ifGiven(options.rate, (text) => positive('--rate', text)),
    limit: ifGiven(options.limit, (text) => wholeNumber('--limit', text, { min: 1 })),
    onSelected(selection) {
      noteSkipped(shell, selection, advice);
      total = selection.due.length;
      printedAt = performance.now();
    },
    onProgress(outcomes) {
      if (performance.now() - printedAt < PROGRESS_EVERY_MS) return;
      printedAt = performance.now();
      shell.note(progressLine(outcomes, total, isDry));
    },
  };
  return {
    run,
    /** Prints what became of the records. The exit code is 0 where it is `wanted` of all. */
    print(outcomes: readonly DeadLetterOutcome[], wanted: DeadLetterOutcome['outcome']): ExitCode {
      if (options.json) printRows(shell, true, outcomeRows(outcomes));
      else printRows(shell, false, summaryRows(outcomes, isDry));
      shell.note(progressLine(outcomes, total, isDry));
      return outcomes.every(({ outcome }) => outcome === wanted) ? 0 : 1;
    },
  };
}

/** Says how many of the matching records are left alone, and why. */
function noteSkipped(shell: Shell, { unasked, done }: Due, advice: string): void {
  if (unasked > 0)
    shell.note(
      `${unasked} command(s) and foreign record(s) skipped: --filter stage=COMMAND includes commands; a record without a stage is not redriven.`,
    );
  if (done > 0) shell.note(`${done} skipped, as they were redriven or dismissed before${advice}.`);
}

function positive(option: string, text: string): number {
  const number = Number(text);
  if (!(number > 0 && Number.isFinite(number)))
    throw new UsageError(`${option} is ${JSON.stringify(text)}: give a number above 0.`);
  return number;
}
