/**
 * Every failure that Hookline knows by name. `status` is the HTTP answer where the failure ends a webhook request,
 * `retryable` says whether the same input can succeed later. Not retryable unless the row says so.
 */
export const ERRORS = {
  // A webhook is refused: the event is nowhere.
  UNAUTHENTIC: { status: 401, retryable: false, text: 'the signature does not match' },
  SOURCE_NOT_ALLOWED: { status: 403, retryable: false, text: 'the source address is not in ALLOWED_SOURCES' },
  NOT_FOUND: { status: 404, retryable: false, text: 'webhooks are received at POST /webhooks/{ref}' },
  BODY_INCOMPLETE: { status: 400, retryable: true, text: 'the body ended before its declared length' },
  BODY_TOO_SLOW: { status: 408, retryable: true, text: 'the body took longer than REQUEST_TIMEOUT_MS' },
  BODY_TOO_LARGE: { status: 413, retryable: false, text: 'the body is larger than MAX_BODY_BYTES' },
  MEDIA_TYPE_UNSUPPORTED: {
    status: 415,
    retryable: false,
    text: 'the body must be application/json or application/octet-stream, without Content-Encoding',
  },
  // A webhook is valid and can't be stored now: send it again.
  KEY_PENDING: {
    status: 503,
    retryable: true,
    text: 'the subscription is being created and its key is not here yet',
  },
  NOT_STORED: { status: 503, retryable: true, text: 'Kafka did not confirm the event in time' },
  STOPPING: { status: 503, retryable: true, text: 'this process is stopping' },
  // A webhook is valid and sending it again would not help: it is a dead letter.
  UNDECRYPTABLE: {
    status: 200,
    retryable: false,
    text: 'no encryption key of the subscription opens the body',
  },
  UNPARSABLE: { status: 200, retryable: false, text: 'the message is not JSON in UTF-8' },
  UNENCODABLE: {
    status: 200,
    retryable: false,
    text: 'the message does not fit the Avro schema of its type',
  },
  RECORD_TOO_LARGE: { status: 200, retryable: false, text: 'the record is larger than its topic takes' },
  // Publishing
  PUBLISH_DEADLINE: {
    status: 503,
    retryable: true,
    text: 'the brokers did not confirm the record before its deadline',
  },
  PUBLISH_REFUSED: { status: 503, retryable: true, text: 'the brokers refused the record' },
  PUBLISH_BACKLOG_FULL: { status: 503, retryable: true, text: 'too many records wait for the brokers' },
  PUBLISHER_CLOSED: { status: 503, retryable: true, text: 'the publisher is closed' },
  TOPIC_MISSING: {
    status: 503,
    retryable: true,
    text: 'the topic does not exist: run hookline topics apply',
  },
  // Start-up
  SCHEMA_INVALID: { status: 500, retryable: false, text: 'a schema file is at fault' },
  SCHEMA_NOT_REGISTERED: {
    status: 503,
    retryable: true,
    text: 'the registry does not have the schema: run hookline schemas push',
  },
  SCHEMA_INCOMPATIBLE: {
    status: 500,
    retryable: false,
    text: 'the registry refuses the schema as incompatible',
  },
  REGISTRY_REFUSED: { status: 500, retryable: false, text: 'the registry refuses the credentials' },
  REGISTRY_UNAVAILABLE: { status: 503, retryable: true, text: 'the schema registry does not answer' },
} as const satisfies Record<string, { status: number; retryable: boolean; text: string }>;

export type ErrorCode = keyof typeof ERRORS;

/** A failure with a row in {@link ERRORS}. Match on `code`; `detail` says more and never holds a secret or a body. */
export class HooklineError extends Error {
  readonly code: ErrorCode;
  constructor(code: ErrorCode, detail?: string, options?: { cause?: unknown }) {
    super(detail === undefined ? ERRORS[code].text : `${ERRORS[code].text} (${detail})`, options);
    this.name = 'HooklineError';
    this.code = code;
  }
  get status(): number {
    return ERRORS[this.code].status;
  }
  get retryable(): boolean {
    return ERRORS[this.code].retryable;
  }
}

/** Whether `error` is ours and has one of these codes. */
export function hasCode(error: unknown, ...codes: ErrorCode[]): error is HooklineError {
  return error instanceof HooklineError && codes.includes(error.code);
}
