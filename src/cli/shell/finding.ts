import { HooklineError } from '../../core/errors.ts';
import { describeError, type Shell } from './shell.ts';

/** The result of one check. `remedy` says what to do where it is not ok. */
export type Finding = {
  readonly check: string;
  /** unknown: it could not be checked; skipped: it was not asked for, or makes no sense now */
  readonly state: 'ok' | 'warning' | 'FAULT' | 'unknown' | 'skipped';
  readonly finding: string;
  readonly remedy: string;
};

/** Checks that are made together. */
export type Check = (shell: Shell) => Promise<Finding[]>;

const withRemedy =
  (state: Finding['state']) =>
  (check: string, finding: string, remedy: string): Finding => ({ check, state, finding, remedy });

export const ok = (check: string, finding: string): Finding => ({ check, state: 'ok', finding, remedy: '' });
export const skipped = (check: string, finding: string, remedy = ''): Finding => ({
  check,
  state: 'skipped',
  finding,
  remedy,
});
export const unknown = withRemedy('unknown');
export const warning = withRemedy('warning');
export const fault = withRemedy('FAULT');

/** A fault from an error: with the error's own remedy, or else the given one. */
export function failure(check: string, error: unknown, remedy: string): Finding {
  if (!(error instanceof HooklineError) || error.remedy === undefined)
    return fault(check, describeError(error), remedy);
  return fault(check, error.message.slice(0, -`: ${error.remedy}`.length), error.remedy);
}
