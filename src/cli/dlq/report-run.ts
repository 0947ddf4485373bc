import { outcomeRows, progressLine, summaryRows } from '../../dead-letters/outcomes.ts';
import type { DeadLetterOutcome } from '../../dead-letters/redrive-one.ts';
import type { Due } from '../../dead-letters/select-due.ts';
import { printRows } from '../shell/print-rows.ts';
import { type Shell, UsageError } from '../shell/shell.ts';

const PROGRESS_EVERY_MS = 1_000;

/** Says how many of the matching records are left alone, and why. */
export function noteSkipped(shell: Shell, { unasked, done }: Due, advice = ''): void {
  if (unasked > 0)
    shell.note(
      `${unasked} command(s) and foreign record(s) skipped: --filter stage=COMMAND includes commands; a record without a stage is not redriven.`,
    );
  if (done > 0) shell.note(`${done} skipped, as they were redriven or dismissed before${advice}.`);
}

/** Prints at most one line per second, on standard error. */
export function createProgress(shell: Shell, dryRun: boolean) {
  let total = 0;
  let printedAt = performance.now();
  return {
    get total() {
      return total;
    },
    begin(records: number): void {
      total = records;
      printedAt = performance.now();
    },
    show(outcomes: readonly DeadLetterOutcome[]): void {
      if (performance.now() - printedAt < PROGRESS_EVERY_MS) return;
      printedAt = performance.now();
      shell.note(progressLine(outcomes, total, dryRun));
    },
  };
}

export function printOutcomes(
  shell: Shell,
  outcomes: readonly DeadLetterOutcome[],
  { total, dryRun, json }: { readonly total: number; readonly dryRun: boolean; readonly json: boolean },
): void {
  if (json) printRows(shell, true, outcomeRows(outcomes));
  else printRows(shell, false, summaryRows(outcomes, dryRun));
  shell.note(progressLine(outcomes, total, dryRun));
}

export function positive(option: string, text: string): number {
  const number = Number(text);
  if (!(number > 0 && Number.isFinite(number)))
    throw new UsageError(`${option} is ${JSON.stringify(text)}: give a number above 0.`);
  return number;
}
