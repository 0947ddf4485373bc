import { existsSync, readFileSync } from 'node:fs';
import { StackError } from './stack-error.ts';

const LINES = 25;

export const lastLines = (text: string): string => text.trimEnd().split('\n').slice(-LINES).join('\n');

/** The error with the end of the log that should explain it: the run's folder is gone by the time that it is read. */
export function withLogTail(error: unknown, name: string, log: string): unknown {
  if (!(error instanceof StackError)) return error;
  return new StackError(
    `${error.message}\n--- the last lines of ${name}'s log:\n${lastLines(log) || '(it is empty)'}`,
  );
}

export const readLog = (file: string): string => (existsSync(file) ? readFileSync(file, 'utf8') : '');
