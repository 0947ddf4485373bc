/**
 * Every error answer of the sandbox. The interface does not show error bodies; the sandbox's own shape is
 * `{ "error": code, "message": sentence }`.
 */
const ERRORS = {
  invalid_request: { status: 400 },
  unsupported_grant_type: { status: 400 },
  invalid_scope: { status: 400 },
  invalid_client: { status: 401 },
  invalid_token: { status: 401 },
  not_found: { status: 404 },
  not_acceptable: { status: 406 },
  conflict: { status: 409 },
  body_too_large: { status: 413 },
  unsupported_media_type: { status: 415 },
  internal_error: { status: 500 },
} as const satisfies Record<string, { status: number }>;

export type ErrorCode = keyof typeof ERRORS;

/** An error with a row in {@link ERRORS}. The message is for the caller: it names the remedy and has no secret. */
export class SandboxError extends Error {
  readonly code: ErrorCode;
  constructor(code: ErrorCode, message: string) {
    super(message);
    this.name = 'SandboxError';
    this.code = code;
  }
}

export type ErrorAnswer = { status: number; body: { error: ErrorCode; message: string } };

/** The answer to an error: a SandboxError by its row, an error of the HTTP layer by its status, any other as a 500. */
export function answerFor(error: unknown): ErrorAnswer {
  if (error instanceof SandboxError) return answer(error.code, error.message);
  const { statusCode, message } = error as { statusCode?: number; message?: string };
  if (statusCode === undefined || statusCode >= 500) {
    return answer('internal_error', 'The sandbox failed; its log says why.');
  }
  if (statusCode === 413) return answer('body_too_large', 'The body is too large for this operation.');
  return answer('invalid_request', message ?? 'The request is malformed.');
}

const answer = (error: ErrorCode, message: string): ErrorAnswer => ({
  status: ERRORS[error].status,
  body: { error, message },
});
