import { HooklineError } from '../../core/errors.ts';

/** An error in one line, with its cause where that says more. */
export function inWords(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const line = wordsOf(error);
  // It ends with what to do about it: the cause has been looked at.
  if (error instanceof HooklineError && error.mend !== undefined) return line;
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
