import { type ErrorCode, HooklineError } from '../core/errors.ts';

/** SQLite's primary result codes (sqlite.org/rescode.html) whose meaning differs from "the disk fails". */
const CODES: Readonly<Record<number, ErrorCode>> = {
  5: 'SPOOL_IN_USE', // BUSY
  11: 'SPOOL_INVALID', // CORRUPT
  13: 'SPOOL_FULL', // FULL
  26: 'SPOOL_INVALID', // NOTADB
};

/** What a failure of the spool's file means. The extended codes carry the primary one in their last byte. */
export function sqliteFailure(error: unknown, dir: string): HooklineError {
  if (error instanceof HooklineError) return error;
  const { errcode, code, message } = error as { errcode?: number; code?: string; message?: string };
  const meaning = errcode === undefined ? undefined : CODES[errcode & 0xff];
  if (code === 'ENOSPC') return new HooklineError('SPOOL_FULL', dir, { cause: error });
  return new HooklineError(meaning ?? 'SPOOL_FAILING', `${dir}: ${message}`, { cause: error });
}
