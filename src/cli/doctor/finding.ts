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

const withoutRemedy =
  (state: Finding['state']) =>
  (check: string, finding: string): Finding => ({ check, state, finding, remedy: '' });
const withRemedy =
  (state: Finding['state']) =>
  (check: string, finding: string, remedy: string): Finding => ({ check, state, finding, remedy });

export const ok = withoutRemedy('ok');
export const skipped = withoutRemedy('skipped');
export const warning = withRemedy('warning');
export const fault = withRemedy('FAULT');

/** A fault from an error: with the error's own remedy, or else the given one. */
export function failure(check: string, error: unknown, remedy: string): Finding {
  if (!(error instanceof HooklineError) || error.remedy === undefined)
    return fault(check, describeError(error), remedy);
  return fault(check, error.message.slice(0, -`: ${error.remedy}`.length), error.remedy);
}
