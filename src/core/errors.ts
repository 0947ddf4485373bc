/** The step at which a valid webhook went to the dead letters, in the words of Kafka Connect's header. */
export type DeadLetterStage = 'DECRYPT' | 'PARSE' | 'ENCODE' | 'PRODUCE' | 'COMMAND';

type Row = {
  /** The HTTP answer, where the failure ends a webhook request. */
  readonly status: number | null;
  /** Whether the same input can succeed later. Not retryable unless the row says so. */
  readonly retryable: boolean;
  /** Where the failure ends among the dead letters: the event is stored there, and the answer is 200. */
  readonly deadLetter?: DeadLetterStage;
  readonly text: string;
};

/** Every failure that Hookline knows by name. */
export const ERRORS = {
  // A webhook is refused: the event is nowhere.
  UNAUTHENTIC: { status: 401, retryable: false, text: 'the signature does not match' },
  SOURCE_NOT_ALLOWED: { status: 403, retryable: false, text: 'the source address is not in ALLOWED_SOURCES' },
  NOT_FOUND: { status: 404, retryable: false, text: 'webhooks are received by POST at /webhooks/{ref}' },
  BODY_INCOMPLETE: { status: 400, retryable: true, text: 'the body ended before its declared length' },
  BODY_TOO_SLOW: { status: 408, retryable: true, text: 'the body did not arrive within REQUEST_TIMEOUT_MS' },
  BODY_TOO_LARGE: { status: 413, retryable: false, text: 'the body is larger than MAX_BODY_BYTES' },
  MEDIA_TYPE_UNSUPPORTED: {
    status: 415,
    retryable: false,
    text: 'the body must be application/json or application/octet-stream, without Content-Encoding',
  },
  // A webhook can't be judged or stored now: send it again.
  KEY_PENDING: {
    status: 503,
    retryable: true,
    text: 'the subscription is being created and its key is not here yet',
  },
  STOPPING: { status: 503, retryable: true, text: 'this process is stopping' },
  PUBLISH_DEADLINE: {
    status: 503,
    retryable: true,
    text: 'the brokers did not confirm the record before its deadline',
  },
  PUBLISH_REFUSED: { status: 503, retryable: true, text: 'the brokers refuse the record' },
  PUBLISH_BACKLOG_FULL: { status: 503, retryable: true, text: 'too many records wait for the brokers' },
  PUBLISHER_CLOSED: { status: 503, retryable: true, text: 'the publisher is closed' },
  INTERNAL: { status: 500, retryable: true, text: 'an error that has no name: see the log' },
  // A webhook is valid and sending it again would not help.
  UNDECRYPTABLE: {
    status: 200,
    retryable: false,
    deadLetter: 'DECRYPT',
    text: 'no encryption key of the subscription opens the body',
  },
  UNPARSABLE: {
    status: 200,
    retryable: false,
    deadLetter: 'PARSE',
    text: 'the message is not JSON in UTF-8',
  },
  UNENCODABLE: {
    status: 200,
    retryable: false,
    deadLetter: 'ENCODE',
    text: 'the message does not fit the Avro schema of its type',
  },
  RECORD_TOO_LARGE: {
    status: 200,
    retryable: false,
    deadLetter: 'PRODUCE',
    text: 'the record is larger than its topic takes',
  },
  // Start-up
  SCHEMA_INVALID: { status: null, retryable: false, text: 'a schema file is at fault' },
  SCHEMA_NOT_REGISTERED: {
    status: null,
    retryable: true,
    text: 'the registry does not have the schema: run hookline schemas push',
  },
  SCHEMA_INCOMPATIBLE: {
    status: null,
    retryable: false,
    text: 'the registry refuses the schema as incompatible',
  },
  REGISTRY_REFUSED: { status: null, retryable: false, text: 'the registry refuses the credentials' },
  REGISTRY_UNAVAILABLE: { status: null, retryable: true, text: 'the schema registry does not answer' },
  RECORD_UNREADABLE: { status: null, retryable: false, text: 'the record is not Avro in the wire format' },
  SEALING_KEY_INVALID: { status: null, retryable: false, text: 'SEALING_KEY_FILE holds no key' },
  TOPICS_MISSING: { status: null, retryable: true, text: 'topics do not exist: run hookline topics apply' },
} as const satisfies Record<string, Row>;

export type ErrorCode = keyof typeof ERRORS;

/** A failure with a row in {@link ERRORS}. Match on `code`; `detail` says more and never holds a secret or a body. */
export class HooklineError extends Error {
  readonly code: ErrorCode;
  /** The topic concerned, where there is one. */
  readonly topic: string | undefined;
  constructor(code: ErrorCode, detail?: string, options: { cause?: unknown; topic?: string } = {}) {
    super(detail === undefined ? ERRORS[code].text : `${ERRORS[code].text} (${detail})`, {
      cause: options.cause,
    });
    this.name = 'HooklineError';
    this.code = code;
    this.topic = options.topic;
  }
  get status(): number | null {
    return ERRORS[this.code].status;
  }
  get retryable(): boolean {
    return ERRORS[this.code].retryable;
  }
  get deadLetter(): DeadLetterStage | undefined {
    const row: Row = ERRORS[this.code];
    return row.deadLetter;
  }
}

/** Whether `error` is ours and has one of these codes. */
export function hasCode(error: unknown, ...codes: ErrorCode[]): error is HooklineError {
  return error instanceof HooklineError && codes.includes(error.code);
}
