import type { Receipt } from '../core/delivery.ts';
import { ERRORS, HooklineError } from '../core/errors.ts';

/** An answer as it is sent. */
export type Answer = { readonly status: number; readonly body: string; readonly retryAfter?: string };

/** Seconds after which the sender may try again, where nothing better is known. */
const RETRY_AFTER = '5';

export function receiptAnswer({ eventId, stored }: Receipt): Answer {
  return { status: 200, body: `{"eventId":"${eventId}","stored":"${stored}"}` };
}

/** The error table's answer. It tells nothing that isn't in the table: all that fail alike are answered alike. */
export function errorAnswer(error: unknown): Answer {
  const code = error instanceof HooklineError ? error.code : 'INTERNAL';
  const status = ERRORS[code].status ?? 500;
  const body = JSON.stringify({ error: code, message: ERRORS[code].text });
  return { status, body, ...(status === 503 ? { retryAfter: RETRY_AFTER } : {}) };
}
