import { existsSync, readFileSync } from 'node:fs';
import { PortTakenError, StackError } from './stack-error.ts';

const LINES = 25;

export const lastLines = (text: string): string => text.trimEnd().split('\n').slice(-LINES).join('\n');

/** As Kafka and Quarkus say it. */
const PORT_TAKEN = /Address already in use|seems to be in use by another process/;

/** The error with the end of the log that should explain it: the run's folder is gone by the time that it is read. */
export function withLogTail(error: unknown, name: string, log: string): unknown {
  if (!(error instanceof StackError)) return error;
  const text = `${error.message}\n--- the last lines of ${name}'s log:\n${lastLines(log) || '(it is empty)'}`;
  return PORT_TAKEN.test(log) ? new PortTakenError(text) : new StackError(text);
}

export const readLog = (file: string): string => (existsSync(file) ? readFileSync(file, 'utf8') : '');
