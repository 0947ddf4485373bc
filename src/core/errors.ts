import type { ResultStatus } from './command.ts';
import { COMMAND_ERRORS } from './command-errors.ts';
import { WEBHOOK_ERRORS } from './webhook-errors.ts';

/** A failure with a row in {@link ERRORS}. Match on `code`; `detail` says more and never holds a secret or a body. */
export class HooklineError extends Error {
  readonly code: ErrorCode;
  readonly detail: string | undefined;
  /** The topic concerned, where there is one. */
  readonly topic: string | undefined;
  /** What an operator does about it, where that is known. The message ends with it. */
  readonly remedy: string | undefined;
  constructor(
    code: ErrorCode,
    detail?: string,
    options: { cause?: unknown; topic?: string; remedy?: string } = {},
  ) {
    const text = detail === undefined ? ERRORS[code].text : `${ERRORS[code].text} (${detail})`;
    super(options.remedy === undefined ? text : `${text}: ${options.remedy}`, { cause: options.cause });
    this.name = 'HooklineError';
    this.code = code;
    this.detail = detail;
    this.topic = options.topic;
    this.remedy = options.remedy;
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

/** Whether `error` ends a command: its row in the table has the status of the result. */
export function endsCommand(error: unknown): error is HooklineError & { readonly result: ResultStatus } {
  return error instanceof HooklineError && error.result !== undefined;
}

/** Its text. An error that has a row in the table begins with its code: runbooks and docs/errors.md refer to it. */
export function textWithCode(error: unknown): string {
  if (error instanceof HooklineError) return `${error.code}: ${error.message}`;
  return error instanceof Error ? error.message : String(error);
}

/** The steps at which a valid webhook, or a command, becomes a dead-letter record, as Kafka Connect's header names them. */
export const DEAD_LETTER_STAGES = ['DECRYPT', 'PARSE', 'ENCODE', 'PRODUCE', 'SPOOL', 'COMMAND'] as const;
export type DeadLetterStage = (typeof DEAD_LETTER_STAGES)[number];

/** What is known of a failure by its name. */
export type ErrorRow = {
  /** The HTTP answer, where the failure ends a webhook request. */
  readonly status: number | null;
  /** Whether the same input can succeed later. Not retryable unless the row says so. */
  readonly retryable: boolean;
  /** Set where the failure makes a dead-letter record: it is stored, and the answer is 200. */
  readonly deadLetter?: DeadLetterStage;
  /** The status of a command's result, where the failure ends a command. */
  readonly result?: ResultStatus;
  readonly text: string;
};

/** Every failure that Hookline knows by name. */
export const ERRORS = {
  ...WEBHOOK_ERRORS,
  ...COMMAND_ERRORS,
  // The way to the brokers
  KAFKA_UNAVAILABLE: { status: null, retryable: true, text: 'the brokers cannot be reached' },
  KAFKA_REFUSED: {
    status: null,
    retryable: false,
    text: "the brokers refuse Hookline's credentials, or its right to a topic or group",
  },
  PLAINTEXT_CREDENTIALS: {
    status: null,
    retryable: false,
    text: 'a password or token would be sent without TLS',
  },
  CREDENTIALS_INVALID: { status: null, retryable: false, text: 'a credentials file cannot be used' },
  ACCESS_TOKEN_REFUSED: { status: null, retryable: false, text: 'the token endpoint gives no access token' },
  ACCESS_TOKEN_UNAVAILABLE: { status: null, retryable: true, text: 'there is no access token' },
  // Messages in the object store
  OBJECT_TAKEN: { status: null, retryable: false, text: 'another message has the name of the object' },
  OBJECT_MISSING: { status: null, retryable: false, text: 'the object store does not have the object' },
  OBJECT_CHANGED: {
    status: null,
    retryable: false,
    text: 'the object is not the one that was stored: its size or its SHA-256 differs',
  },
  BODY_SEALED: {
    status: null,
    retryable: false,
    text: 'the dead-lettered body is sealed, and no key of SEALING_KEY_FILE opens it',
  },
  // Start-up
  SCHEMA_INVALID: { status: null, retryable: false, text: 'a schema file is invalid' },
  SCHEMA_NOT_REGISTERED: {
    status: null,
    retryable: true,
    text: 'the registry does not have the schema: run hookline schemas push',
  },
  SCHEMA_IDS_CHANGED: {
    status: null,
    retryable: false,
    text: 'the registry has other ids for the schemas than at the start, as if it was restored or filled anew: events written since then have ids of other schemas',
  },
  SCHEMA_INCOMPATIBLE: {
    status: null,
    retryable: false,
    text: 'the registry refuses the schema as incompatible',
  },
  REGISTRY_REFUSED: { status: null, retryable: false, text: 'the registry refuses the credentials' },
  REGISTRY_READ_ONLY: { status: null, retryable: true, text: 'the schema registry takes no schemas' },
  REGISTRY_UNAVAILABLE: { status: null, retryable: true, text: 'the schema registry does not answer' },
  RECORD_UNREADABLE: {
    status: null,
    retryable: false,
    text: 'the record cannot be read as Avro in the wire format',
  },
  SEALING_KEY_INVALID: { status: null, retryable: false, text: 'SEALING_KEY_FILE holds no key' },
  SPOOL_IN_USE: {
    status: null,
    retryable: false,
    text: 'another process owns the spool: a directory has one owner',
  },
  SPOOL_INVALID: { status: null, retryable: false, text: 'the spool has no file that can be read' },
  TOPICS_UNSAFE: { status: null, retryable: true, text: 'topics can lose what was acknowledged' },
  SPOOL_KEY_MISSING: {
    status: null,
    retryable: true,
    text: 'deliveries in the spool are sealed with a key that is not in SEALING_KEY_FILE',
  },
  // Kafka lists no topic that the user may not describe.
  TOPICS_MISSING: {
    status: null,
    retryable: true,
    text: 'topics do not exist, or this user has no right to them: run hookline topics apply, or grant it',
  },
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof ERRORS;

/** What somebody gave cannot be used: exit code 2 of the CLI, 400 of the console. The message is one sentence that says what is accepted. */
export class UsageError extends Error {}
