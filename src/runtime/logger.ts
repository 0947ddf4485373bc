import { type LoggerOptions, type Logger as PinoLogger, pino } from 'pino';
import type { LOG_LEVELS } from '../config/shared-settings.ts';
import { shortText } from '../core/cut-text.ts';

/** Without `child`: the fields of a child logger would be in its lines unredacted. */
export type Logger = Pick<
  PinoLogger,
  'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'level' | 'isLevelEnabled'
>;

/** JSON lines on standard output, without secrets and bodies, whatever is logged. */
export function createLogger(options: {
  name: string;
  level: (typeof LOG_LEVELS)[number];
  /** Takes each line instead of standard output. */
  write?: (line: string) => void;
}): Logger {
  const settings: LoggerOptions = {
    name: options.name,
    level: options.level,
    base: { name: options.name },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }), log: redactFields },
    // Clients pass errors where their types promise a text: a log line must not throw.
    serializers: { err: (described) => described, msg: (text) => redactText(String(text)) },
  };
  const { write } = options;
  if (write) return pino(settings, { write });
  // Written before the next step: the last line before an exit is the one that is wanted.
  const output = pino.destination({ dest: 1, sync: true, maxLength: MAX_UNWRITTEN_BYTES });
  // A disk that is full under the log ends neither the process nor a webhook: the line is written with a later one.
  output.on('error', () => {});
  let lost = 0;
  output.on('drop', () => {
    lost++;
    // It would not try what it keeps again.
    output.write('');
  });
  const logger = pino(settings, output);
  output.on('drain', () => {
    const lines = lost;
    lost = 0;
    if (lines > 0)
      logger.error(
        { lines },
        'log lines were lost: standard output took none, as on a full disk, or they were longer than 1 MiB',
      );
  });
  return logger;
}

/** What is kept of a log that standard output does not take. */
const MAX_UNWRITTEN_BYTES = 1024 * 1024;

/** A client's own messages, for debugging. */
export function clientLog(logger: Logger) {
  return (message: string, fields: object) => logger.debug(fields, message);
}

/**
 * What may be in a log line. A secret is recognized by its name, at any depth and in any spelling
 * (`signingSecret`, `signing-secret`, `Signing_Secret`); in running text by its form. Bodies are cut the same way.
 */

const SECRET_NAME =
  /^(.*(authorization|cookie|password|passphrase|secrets?|tokens?|assertion|credentials?)|jwt|.*(encryption|sealing|sealed|signing|private)keys?|.*body|payload|value|source)$/;
const CENSORED = '[redacted]';

/** Deeper than anything we log on purpose. */
const MAX_DEPTH = 8;
const MAX_CAUSES = 4;
/** What an error says may be an answer of megabytes, which a client has made its message. */
const MAX_ERROR_CHARACTERS = 8_000;

/**
 * A JWT, and what stands before it without a dot. Looked for where such a run begins, and only where a dot ends it: from each `eyJ` on,
 * the time would grow with the square of what the other side sent.
 */
const JWT = /(?<![\w-])(?=[\w-]+\.[\w-])([\w-]*?)\beyJ[\w-]{4,}\.[\w-]+(\.[\w-]*)?/g;

/** The fields of a line as they may be written: plain values, without secrets, bodies and cycles. Never throws. */
function redactFields(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  try {
    return redactMembers(fields, [fields]);
  } catch (error) {
    // A getter or a toJSON of someone else's: a log line must not be what breaks.
    return { unloggable: error instanceof Error ? redactText(error.message) : typeof error };
  }
}

/** Without bearer tokens, JWTs and the credentials in an address, anywhere in the text. */
function redactText(text: string): string {
  return text
    .replaceAll(/\b(bearer|basic)\s+[\w.~+/=-]{8,}/gi, `$1 ${CENSORED}`)
    .replaceAll(JWT, `$1${CENSORED}`)
    .replaceAll(/(:\/\/)[^\s/@"']+@/g, `$1${CENSORED}@`);
}

type ErrorDescription = {
  type: string;
  message: string;
  code?: string | number;
  stack?: string;
  cause?: ErrorDescription;
};

/**
 * What may be logged of an error: clients hang requests, responses and configurations with credentials on theirs,
 * so that nothing but these fields is taken, four causes deep.
 */
function describeError(error: Error, depth = 0): ErrorDescription {
  const { code } = error as { code?: unknown };
  const cause = error.cause ?? (error instanceof AggregateError ? error.errors[0] : undefined);
  const said = (text: string) => shortText(redactText(text), MAX_ERROR_CHARACTERS);
  return {
    type: error.name,
    message: said(error.message),
    ...(typeof code === 'string' || typeof code === 'number' ? { code } : {}),
    ...(depth === 0 && error.stack !== undefined ? { stack: said(error.stack) } : {}),
    ...(cause instanceof Error && depth < MAX_CAUSES ? { cause: describeError(cause, depth + 1) } : {}),
  };
}

function redactMembers(members: object, within: readonly object[]): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(members).map(([name, value]) => [
      name,
      isSecretName(name) && value !== undefined && value !== null ? CENSORED : redactValue(value, within),
    ]),
  );
}

const isSecretName = (name: string) => SECRET_NAME.test(name.toLowerCase().replaceAll(/[-_ ]/g, ''));

function redactValue(value: unknown, within: readonly object[]): unknown {
  if (typeof value === 'string') return redactText(value);
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Error) return describeError(value);
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  if (within.includes(value)) return '[circular]';
  if (within.length > MAX_DEPTH) return '[too deep]';
  const inner = [...within, value];
  const { toJSON } = value as { toJSON?: unknown };
  if (typeof toJSON === 'function') return redactValue(toJSON.call(value), inner);
  if (!Array.isArray(value)) return redactMembers(value, inner);
  return isHeaderList(value)
    ? redactMembers(toHeaders(value), inner)
    : value.map((one) => redactValue(one, inner));
}

/** Headers as Node and undici have them raw, where the name of a value is its neighbour: `['Authorization', '…']`. */
const isHeaderList = (list: readonly unknown[]): boolean =>
  list.length % 2 === 0 &&
  list.every((one) => typeof one === 'string') &&
  list.some((name, at) => at % 2 === 0 && isSecretName(name));

const toHeaders = (list: readonly unknown[]) =>
  Object.fromEntries(list.flatMap((name, at) => (at % 2 === 0 ? [[String(name), list[at + 1]]] : [])));

/** What makes an event of the same kind as another. */
type Kind = Readonly<Record<string, string>>;
type Write = (kind: Kind, text: string, fields: () => object) => void;

/** A kind that is counted: how often it came since its last line. */
type Counted = {
  readonly kind: Kind;
  readonly text: string;
  readonly level: 'warn' | 'error';
  count: number;
};

/** How often one kind is logged at most: a flood must not fill a disk. */
const EVERY_MS = 60_000;

/** A log of what strangers can cause as often as they like: the first of a kind at once, then a count per interval. */
export function createThrottledLog(logger: Pick<Logger, 'warn' | 'error'>): {
  readonly warn: Write;
  readonly error: Write;
  stop(): void;
} {
  const kinds = new Map<string, Counted>();
  const writeCounts = () => {
    for (const [key, one] of kinds) {
      const { kind, text, level, count } = one;
      if (count > 0) logger[level]({ ...kind, count }, `${text}, so often since the last such line`);
      if (count > 0) one.count = 0;
      else kinds.delete(key);
    }
  };
  const timer = setInterval(writeCounts, EVERY_MS);
  timer.unref();
  const writer =
    (level: Counted['level']): Write =>
    (kind, text, fields) => {
      const key = `${text} ${Object.values(kind).join(' ')}`;
      const seen = kinds.get(key);
      if (seen) return void seen.count++;
      kinds.set(key, { kind, text, level, count: 0 });
      logger[level]({ ...kind, ...fields() }, text);
    };
  return {
    warn: writer('warn'),
    error: writer('error'),
    stop() {
      clearInterval(timer);
      writeCounts();
    },
  };
}
