import type { ResultStatus } from './command.ts';

/** The step at which a valid webhook went to the dead letters, in the words of Kafka Connect's header. */
export type DeadLetterStage = 'DECRYPT' | 'PARSE' | 'ENCODE' | 'PRODUCE' | 'COMMAND';

/** What is known of a failure by its name. */
export type ErrorRow = {
  /** The HTTP answer, where the failure ends a webhook request. */
  readonly status: number | null;
  /** Whether the same input can succeed later. Not retryable unless the row says so. */
  readonly retryable: boolean;
  /** Where the failure ends among the dead letters: the event is stored there, and the answer is 200. */
  readonly deadLetter?: DeadLetterStage;
  /** The status of a command's result, where the failure ends a command. */
  readonly result?: ResultStatus;
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
  NO_ROOM: {
    status: 503,
    retryable: true,
    text: 'no memory for the body within ADMISSION_WAIT_MS',
  },
  LARGE_BODY_FAILED: {
    status: 503,
    retryable: true,
    text: 'the thread for large bodies ended while it had this one',
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
  SPOOL_FULL: { status: 503, retryable: true, text: 'the brokers are away and the spool has no room left' },
  SPOOL_FAILING: {
    status: 503,
    retryable: true,
    text: "the brokers are away and the spool's disk fails",
  },
  INTERNAL: {
    status: 500,
    retryable: true,
    result: 'FAILED',
    text: 'an error that has no name: see the log',
  },
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
  // Commands: the result's status
  COMMAND_INVALID: {
    status: null,
    retryable: false,
    deadLetter: 'COMMAND',
    result: 'REJECTED',
    text: 'the command can not be read or is incomplete',
  },
  COMMAND_EXPIRED: {
    status: null,
    retryable: false,
    result: 'EXPIRED',
    text: 'the command came after its expiresAt',
  },
  COMMAND_DUPLICATE: {
    status: null,
    retryable: false,
    result: 'DUPLICATE',
    text: 'another command with this commandId has its result already',
  },
  NOT_OWNER: {
    status: null,
    retryable: false,
    result: 'REJECTED',
    text: 'the ref belongs to the command topic that created it',
  },
  PRECONDITION_FAILED: {
    status: null,
    retryable: false,
    result: 'REJECTED',
    text: 'another command than ifMatch names has changed the ref since',
  },
  UNKNOWN_REF: {
    status: null,
    retryable: false,
    result: 'REJECTED',
    text: 'no active subscription has this ref',
  },
  REF_IN_USE: {
    status: null,
    retryable: false,
    result: 'REJECTED',
    text: 'the ref has an active subscription: update or delete it',
  },
  URL_IN_USE: {
    status: null,
    retryable: false,
    result: 'REJECTED',
    text: "the payment service has a subscription for this ref's address that Hookline did not create: adopt it",
  },
  UNKNOWN_EVENT: {
    status: null,
    retryable: false,
    result: 'REJECTED',
    text: 'the dialect has no such event',
  },
  EXTRA_CONFLICT: {
    status: null,
    retryable: false,
    result: 'REJECTED',
    text: 'extra may not set the address, the events, the key, or what the dialect sets',
  },
  KEYS_MISSING: {
    status: null,
    retryable: false,
    result: 'REJECTED',
    text: 'to adopt a subscription, SECRETS_DIR/{ref} must hold its signing-secret',
  },
  KEYS_INVALID: {
    status: null,
    retryable: false,
    result: 'REJECTED',
    text: 'a file of SECRETS_DIR/{ref} can not be used',
  },
  SUBSCRIPTION_NOT_FOUND: {
    status: null,
    retryable: false,
    result: 'FAILED',
    text: 'the payment service has no such subscription or run',
  },
  // The payment service
  TOKEN_REFUSED: {
    status: null,
    retryable: false,
    result: 'FAILED',
    text: 'the payment service gives no access token: check the JWT',
  },
  JWT_UNAVAILABLE: {
    status: null,
    retryable: true,
    text: 'PROVIDER_JWT_FILE can not be read, or no JWT be signed with PROVIDER_JWT_KEY_FILE',
  },
  TOKEN_UNAVAILABLE: { status: null, retryable: true, text: 'the authentication API does not answer' },
  PROVIDER_REFUSED: {
    status: null,
    retryable: false,
    result: 'FAILED',
    text: 'the payment service refused the request',
  },
  PROVIDER_UNAVAILABLE: {
    status: null,
    retryable: false,
    result: 'FAILED',
    text: 'the payment service did not do it before the deadline',
  },
  PROVIDER_ANSWER_INVALID: {
    status: null,
    retryable: false,
    result: 'FAILED',
    text: "the payment service's answer does not have the dialect's shape",
  },
  // The reconciler: what the payment service has is not what the state says
  SUBSCRIPTION_MISSING: {
    status: null,
    retryable: false,
    result: 'DRIFT',
    text: 'the payment service no longer lists the subscription',
  },
  SUBSCRIPTION_CHANGED: {
    status: null,
    retryable: false,
    result: 'DRIFT',
    text: 'the payment service has the subscription with another address or other events',
  },
  SUBSCRIPTION_DISABLED: {
    status: null,
    retryable: false,
    result: 'DRIFT',
    text: 'the payment service lists the subscription as not active',
  },
  SUBSCRIPTION_FOREIGN: {
    status: null,
    retryable: false,
    result: 'DRIFT',
    text: 'the payment service has a subscription that Hookline did not create: adopt it, or leave it',
  },
  // The way to the brokers
  KAFKA_UNAVAILABLE: { status: null, retryable: true, text: 'the brokers can not be reached' },
  KAFKA_REFUSED: { status: null, retryable: false, text: "the brokers refuse Hookline's credentials" },
  CREDENTIALS_INVALID: { status: null, retryable: false, text: 'a credentials file can not be used' },
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
  SPOOL_IN_USE: {
    status: null,
    retryable: false,
    text: 'another process owns the spool: a folder has one owner',
  },
  SPOOL_INVALID: { status: null, retryable: false, text: 'the spool holds no file that can be read' },
  TOPICS_MISSING: { status: null, retryable: true, text: 'topics do not exist: run hookline topics apply' },
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof ERRORS;
