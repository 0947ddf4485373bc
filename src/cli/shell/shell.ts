import type { EnvSource } from '../../config/env.ts';
import { HooklineError } from '../../core/errors.ts';

/** The outside as a command of the CLI sees it. */
export type Shell = {
  readonly source: EnvSource;
  /** A line on standard output: results. */
  readonly print: (line: string) => void;
  /** Bytes on standard output, as they are. Resolves when they are written. */
  readonly write: (bytes: Buffer) => Promise<void>;
  /** A line on standard error: progress and advice, which a pipe doesn't want. */
  readonly note: (line: string) => void;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
  /** How wide the terminal is; undefined where results go to a file or a program. */
  readonly columns?: number | undefined;
};

/** A mistake in how the CLI was called, or in what it was given: a sentence, exit code 2. */
export class UsageError extends Error {}

/** Exit codes: 0 done, 1 it did not succeed or something was found, 2 it was called wrongly. */
export type ExitCode = 0 | 1 | 2;

/** Makes a command's action of a function whose result is the exit code; its last argument is the options. */
export type Run = (action: (...args: never[]) => Promise<ExitCode>) => (...args: unknown[]) => Promise<void>;

/** An error in one line, with its cause where that says more. */
export function inWords(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const line = wordsOf(error);
  // It ends with what to do about it: the cause has been looked at.
  if (error instanceof HooklineError && error.remedy !== undefined) return line;
  const cause = error.cause instanceof Error ? wordsOf(error.cause) : '';
  return line.includes(cause) ? line : `${line} (${cause})`;
}

/** Several errors in one, as of a name with several addresses, have no words of their own: the first one's say why. */
function wordsOf(error: Error): string {
  const [line] = error.message.split('\n', 1);
  if (line) return line;
  const first: unknown = error instanceof AggregateError ? error.errors[0] : undefined;
  return first instanceof Error ? wordsOf(first) : error.name;
}
