/** How a webhook ends that is not simply stored. */
export const WEBHOOK_ERRORS = {
  // A webhook is refused: the event is nowhere.
  UNAUTHENTIC: { status: 401, retryable: false, text: 'the signature does not match' },
  SOURCE_NOT_ALLOWED: { status: 403, retryable: false, text: 'the source address is not in ALLOWED_SOURCES' },
  NOT_FOUND: { status: 404, retryable: false, text: 'webhooks are received by POST at /webhooks/{ref}' },
  REQUEST_MALFORMED: { status: 400, retryable: false, text: 'the request is not well-formed HTTP/1.1' },
  HEADERS_TOO_LARGE: {
    status: 431,
    retryable: false,
    text: 'the head of the request has more than 16 KiB or more than 100 headers',
  },
  BODY_INCOMPLETE: { status: 400, retryable: true, text: 'the body ended before its declared length' },
  BODY_FRAGMENTED: {
    status: 400,
    retryable: false,
    text: 'chunks of less than 16 bytes on average, more than 512 on a connection without a valid signature: send the body whole, or in larger chunks',
  },
  BODY_TOO_SLOW: {
    status: 408,
    retryable: true,
    text: 'the body arrived at less than 240 bytes a second, or not within REQUEST_TIMEOUT_MS',
  },
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
    text: 'the key is not known yet: the subscription is being created, or its record cannot be read or opened',
  },
  NO_ROOM: {
    status: 503,
    retryable: true,
    text: 'no memory for the body within ADMISSION_WAIT_MS, or it arrived so slowly that others were given its memory',
  },
  SOURCE_BUSY: {
    status: 503,
    retryable: true,
    text: 'MAX_CONNECTIONS_PER_SOURCE requests of this source address are in progress',
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
  BODY_STORE_UNAVAILABLE: {
    status: 503,
    retryable: true,
    text: 'the object store did not take the message within BODY_STORE_DEADLINE_MS',
  },
  BODY_STORE_REFUSED: { status: 503, retryable: true, text: 'the object store refuses the message' },
  SPOOL_FULL: { status: 503, retryable: true, text: 'the brokers are unavailable and the spool is full' },
  SPOOL_FAILING: {
    status: 503,
    retryable: true,
    text: "the brokers are unavailable and the spool's disk fails",
  },
  INTERNAL: {
    status: 500,
    retryable: true,
    result: 'FAILED',
    text: 'an unexpected error: see the log',
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
    text: 'the message is not a JSON object in UTF-8',
  },
  UNENCODABLE: {
    status: 200,
    retryable: false,
    deadLetter: 'ENCODE',
    text: 'the message does not fit the Avro schema of its type',
  },
  NOT_A_PROBE: {
    status: 200,
    retryable: false,
    deadLetter: 'ENCODE',
    text: 'the ref hookline-probe takes probes of hookline verify only: a subscription needs another ref',
  },
  RECORD_TOO_LARGE: {
    status: 200,
    retryable: false,
    deadLetter: 'PRODUCE',
    text: 'the record is larger than its topic takes',
  },
  SPOOL_ROW_CHANGED: {
    status: 200,
    retryable: false,
    deadLetter: 'SPOOL',
    text: "the delivery was changed on the spool's volume: nothing proves any longer that the provider sent it",
  },
} as const;
