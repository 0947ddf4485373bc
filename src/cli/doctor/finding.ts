import { HooklineError } from '../../core/errors.ts';
import { inWords, type Shell } from '../shell/shell.ts';

/** One thing that was looked at. `mend` says what to do where it isn't as it should be. */
export type Finding = {
  readonly check: string;
  readonly state: 'ok' | 'warning' | 'FAULT' | 'not looked at';
  readonly finding: string;
  readonly mend: string;
};

/** A group of findings that are looked for together. */
export type Examination = (shell: Shell) => Promise<Finding[]>;

export const ok = (check: string, finding: string): Finding => ({ check, state: 'ok', finding, mend: '' });

export const warning = (check: string, finding: string, mend: string): Finding => ({
  check,
  state: 'warning',
  finding,
  mend,
});

export const fault = (check: string, finding: string, mend: string): Finding => ({
  check,
  state: 'FAULT',
  finding,
  mend,
});

export const skipped = (check: string, finding: string): Finding => ({
  check,
  state: 'not looked at',
  finding,
  mend: '',
});

/** What failed, with the mend that the error names, else the one given. */
export function failure(check: string, error: unknown, mend: string): Finding {
  if (!(error instanceof HooklineError) || error.remedy === undefined)
    return fault(check, inWords(error), mend);
  return fault(check, error.message.slice(0, -`: ${error.remedy}`.length), error.remedy);
}
