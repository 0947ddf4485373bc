/** `act`: webhooks or commands are not served, or may soon not be. `look`: today. */
export type Severity = 'act' | 'look';

export type Problem = {
  readonly severity: Severity;
  /** One sentence. */
  readonly what: string;
  /** One sentence, an imperative where there is something to do. */
  readonly remedy: string;
  /** A command that shows more or repairs it. */
  readonly command?: string;
  /** An address outside, with the whole procedure. */
  readonly runbook?: string | null;
};
