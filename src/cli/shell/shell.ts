import type { EnvSource } from '../../config/env.ts';
import { HooklineError } from '../../core/errors.ts';
import { ObjectStoreFault } from '../../object-store/object-store.ts';

/** What a command uses of its environment. */
export type Shell = {
  readonly source: EnvSource;
  /** Prints a line on standard output: results. */
  readonly print: (line: string) => void;
  /** Writes bytes to standard output. Resolves when they are written. */
  readonly write: (bytes: Buffer) => Promise<void>;
  /** Prints a line on standard error: progress and advice, which do not belong into a pipe. */
  readonly note: (line: string) => void;
  /** Aborted by Ctrl-C. Its reason is an error that says so. */
  readonly signal: AbortSignal;
  /** Width of the terminal; undefined if standard output is a file or a pipe. */
  readonly columns?: number | undefined;
};

/** 0: done. 1: failed, or something was found. 2: wrong usage. 3, of a check: nothing was found, and not everything checked. */
export type ExitCode = 0 | 1 | 2 | 3;

/** Turns a function that returns the exit code into an action of commander. */
export type Run = (action: (...args: never[]) => Promise<ExitCode>) => (...args: unknown[]) => Promise<void>;

/** An error as one line, with its cause if that adds something, and the remedy where it is known. */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const line = messageOf(error);
  if (error instanceof ObjectStoreFault && error.remedy !== undefined) return `${line}: ${error.remedy}`;
  // The message already ends with the remedy for this cause.
  if (error instanceof HooklineError && error.remedy !== undefined) return line;
  const cause = error.cause instanceof Error ? messageOf(error.cause) : '';
  return line.includes(cause) ? line : `${line} (${cause})`;
}

/** An AggregateError, such as of a host with several addresses, has no message: its first error says why. */
function messageOf(error: Error): string {
  const [line] = error.message.split('\n', 1);
  if (line) return line;
  const first: unknown = error instanceof AggregateError ? error.errors[0] : undefined;
  return first instanceof Error ? messageOf(first) : error.name;
}
