import { type LoggerOptions, type Logger as PinoLogger, pino } from 'pino';
import type { LOG_LEVELS } from '../config/shared-settings.ts';
import { redactFields, redactText } from './redact.ts';

/** Without `child`: the fields of a child logger would stand in its lines as they are, secrets and all. */
export type Logger = Pick<
  PinoLogger,
  'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'level' | 'isLevelEnabled'
>;

/** JSON lines on standard output, without secrets and bodies: whoever logs need not think of it. */
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
    // Clients hand on errors where their types promise a text: a log line must not be what breaks.
    serializers: { err: (described) => described, msg: (text) => redactText(String(text)) },
  };
  const { write } = options;
  // Written before the next step: the last line before an exit is the one that is wanted.
  return pino(settings, write ? { write } : pino.destination({ dest: 1, sync: true }));
}

/** A client's own words, for a closer look. */
export function clientLog(logger: Logger) {
  return (message: string, fields: object) => logger.debug(fields, message);
}

/** What becomes of certificate and password files that change while a process runs. */
export function filesLog(logger: Logger) {
  return {
    renewed: (files: readonly { variable: string; path: string }[]) =>
      logger.info({ files: files.map(({ variable }) => variable) }, 'changed files taken up'),
    unusable: (err: Error) =>
      logger.error({ err }, 'changed files can not be used, what was read before stays'),
  };
}
