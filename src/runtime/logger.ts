import { type Logger, type LoggerOptions, pino } from 'pino';
import type { LOG_LEVELS } from './settings.ts';

export type { Logger } from 'pino';

/** Names under which a secret or a body could stand. They never reach a log line, whoever logs the object. */
const SECRET_NAMES = [
  'authorization',
  'password',
  'secret',
  'signingSecret',
  'encryptionKey',
  'sealedKeys',
  'sealingKey',
  'accessToken',
  'access_token',
  'assertion',
  'client_assertion',
  'token',
  'body',
  'payload',
  'value',
  'source',
];

/** JSON lines on standard output. Secrets are cut by name at three depths; errors are reduced to what says why. */
export function createLogger(options: { name: string; level: (typeof LOG_LEVELS)[number] }): Logger {
  const settings: LoggerOptions = {
    name: options.name,
    level: options.level,
    base: { name: options.name },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    serializers: { err: describeError },
    redact: {
      paths: SECRET_NAMES.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]),
      censor: '[redacted]',
    },
  };
  // Written before the next step: the last line before an exit is the one that is wanted.
  return pino(settings, pino.destination({ dest: 1, sync: true }));
}

type ErrorDescription = {
  type: string;
  message: string;
  code?: unknown;
  stack?: string;
  cause?: ErrorDescription;
};

/**
 * What may be logged of an error: clients hang requests, responses and configurations with credentials on theirs,
 * so that nothing but these fields is taken, four causes deep.
 */
export function describeError(error: unknown, depth = 0): ErrorDescription {
  if (!(error instanceof Error)) return { type: typeof error, message: 'not an Error' };
  const { code } = error as { code?: unknown };
  const cause = error.cause ?? (error instanceof AggregateError ? error.errors[0] : undefined);
  return {
    type: error.name,
    message: error.message,
    ...(code === undefined ? {} : { code }),
    ...(depth === 0 && error.stack !== undefined ? { stack: error.stack } : {}),
    ...(cause instanceof Error && depth < 4 ? { cause: describeError(cause, depth + 1) } : {}),
  };
}

/** A client's own words, for a closer look. */
export function clientLog(logger: Logger) {
  return (message: string, fields: object) => logger.debug(fields, message);
}
