import { COMMAND_ERRORS } from './command-errors.ts';
import type { ErrorRow } from './error-row.ts';
import { WEBHOOK_ERRORS } from './webhook-errors.ts';

/** Every failure that Hookline knows by name. */
export const ERRORS = {
  ...WEBHOOK_ERRORS,
  ...COMMAND_ERRORS,
  // The way to the brokers
  KAFKA_UNAVAILABLE: { status: null, retryable: true, text: 'the brokers cannot be reached' },
  KAFKA_REFUSED: { status: null, retryable: false, text: "the brokers refuse Hookline's credentials" },
  PLAINTEXT_CREDENTIALS: {
    status: null,
    retryable: false,
    text: 'a password or token would be sent without TLS',
  },
  CREDENTIALS_INVALID: { status: null, retryable: false, text: 'a credentials file cannot be used' },
  // Start-up
  SCHEMA_INVALID: { status: null, retryable: false, text: 'a schema file is invalid' },
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
    text: 'another process owns the spool: a directory has one owner',
  },
  SPOOL_INVALID: { status: null, retryable: false, text: 'the spool has no file that can be read' },
  TOPICS_UNSAFE: { status: null, retryable: true, text: 'topics can lose what was acknowledged' },
  SPOOL_KEY_MISSING: {
    status: null,
    retryable: true,
    text: 'deliveries in the spool are sealed with a key that is not in SEALING_KEY_FILE',
  },
  TOPICS_MISSING: { status: null, retryable: true, text: 'topics do not exist: run hookline topics apply' },
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof ERRORS;
