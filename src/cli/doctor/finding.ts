import { HooklineError } from '../../core/errors.ts';
import { describeError, type Shell } from '../shell/shell.ts';

/** The result of one check. `remedy` says what to do about a warning or fault. */
export type Finding = {
  readonly check: string;
  readonly state: 'ok' | 'warning' | 'FAULT' | 'skipped';
  readonly finding: string;
  readonly remedy: string;
};

/** Checks that are made together. */
export type Check = (shell: Shell) => Promise<Finding[]>;

export const ok = (check: string, finding: string): Finding => ({ check, state: 'ok', finding, remedy: '' });

export const warning = (check: string, finding: string, remedy: string): Finding => ({
  check,
  state: 'warning',
  finding,
  remedy,
});

export const fault = (check: string, finding: string, remedy: string): Finding => ({
  check,
  state: 'FAULT',
  finding,
  remedy,
});

export const skipped = (check: string, finding: string): Finding => ({
  check,
  state: 'skipped',
  finding,
  remedy: '',
});

/** A fault from an error: with the error's own remedy, or else the given one. */
export function failure(check: string, error: unknown, remedy: string): Finding {
  if (!(error instanceof HooklineError) || error.remedy === undefined)
    return fault(check, describeError(error), remedy);
  return fault(check, error.message.slice(0, -`: ${error.remedy}`.length), error.remedy);
}
