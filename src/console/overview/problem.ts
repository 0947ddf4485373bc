/** `act`: webhooks or commands are not served, or may soon not be. `look`: today. */
export type Severity = 'act' | 'look';

/** By its address, what the navigation calls it. */
export const PROBLEM_PAGES = {
  '/commands': 'Commands',
  '/dead-letters': 'Dead letters',
  '/schemas': 'Schemas',
  '/subscriptions': 'Subscriptions',
} as const;

export type ProblemPage = keyof typeof PROBLEM_PAGES;

export type Problem = {
  readonly severity: Severity;
  /** One sentence. */
  readonly what: string;
  /** One sentence, an imperative where there is something to do. */
  readonly remedy: string;
  /** A command that shows more or repairs it. */
  readonly command?: string;
  /** The page of the console that shows more, or on which it is repaired. */
  readonly page?: ProblemPage;
  /** An address outside, with the whole procedure. */
  readonly runbook?: string | null;
};
