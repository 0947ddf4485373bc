/** What one check of `hookline verify` says. `remedy` says what to do where it is not ok. */
export type VerifyFinding = {
  readonly check: string;
  /** unknown: it could not be checked; skipped: it was not asked for, or makes no sense now */
  readonly state: 'ok' | 'FAULT' | 'unknown' | 'skipped';
  readonly finding: string;
  readonly remedy: string;
};

export const finding = (
  state: VerifyFinding['state'],
  check: string,
  text: string,
  remedy = '',
): VerifyFinding => ({ check, state, finding: text, remedy });

/** 0: well. 1: not well. 3: nothing is wrong, and not everything could be checked. */
export function verdictOf(findings: readonly VerifyFinding[]): 0 | 1 | 3 {
  if (findings.some(({ state }) => state === 'FAULT')) return 1;
  return findings.some(({ state }) => state === 'unknown') ? 3 : 0;
}
