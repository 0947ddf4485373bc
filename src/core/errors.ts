import type { ResultStatus } from './command.ts';
import type { DeadLetterStage, ErrorRow } from './error-row.ts';
import { ERRORS, type ErrorCode } from './error-table.ts';

export type { DeadLetterStage } from './error-row.ts';
export { ERRORS, type ErrorCode } from './error-table.ts';

/** A failure with a row in {@link ERRORS}. Match on `code`; `detail` says more and never holds a secret or a body. */
export class HooklineError extends Error {
  readonly code: ErrorCode;
  readonly detail: string | undefined;
  /** The topic concerned, where there is one. */
  readonly topic: string | undefined;
  /** What an operator does about it, where that is known. The message ends with it. */
  readonly mend: string | undefined;
  constructor(
    code: ErrorCode,
    detail?: string,
    options: { cause?: unknown; topic?: string; mend?: string } = {},
  ) {
    const text = detail === undefined ? ERRORS[code].text : `${ERRORS[code].text} (${detail})`;
    super(options.mend === undefined ? text : `${text}: ${options.mend}`, { cause: options.cause });
    this.name = 'HooklineError';
    this.code = code;
    this.detail = detail;
    this.topic = options.topic;
    this.mend = options.mend;
  }
  get status(): number | null {
    return ERRORS[this.code].status;
  }
  get retryable(): boolean {
    return ERRORS[this.code].retryable;
  }
  get result(): ResultStatus | undefined {
    const row: ErrorRow = ERRORS[this.code];
    return row.result;
  }
  get deadLetter(): DeadLetterStage | undefined {
    const row: ErrorRow = ERRORS[this.code];
    return row.deadLetter;
  }
}

/** Whether `error` is ours and has one of these codes. */
export function hasCode<C extends ErrorCode>(
  error: unknown,
  ...codes: C[]
): error is HooklineError & { readonly code: C } {
  return error instanceof HooklineError && codes.some((code) => code === error.code);
}
