import { createLogger, type Logger } from '../../src/runtime/logger.ts';

export type LogLine = { readonly level: string; readonly msg?: string } & Readonly<Record<string, unknown>>;

/** The real logger, whose lines stay here: as they would be written, and read again. */
export function capturedLog(level: 'debug' | 'info' = 'info') {
  const written: string[] = [];
  const logger: Logger = createLogger({ name: 'test', level, write: (line) => written.push(line) });
  return {
    logger,
    text: () => written.join(''),
    lines: () => written.map((line): LogLine => JSON.parse(line)),
  };
}
