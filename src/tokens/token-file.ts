import { readFileSync } from 'node:fs';
import type { NamedFile } from '../config/renewed-files.ts';
import { HooklineError } from '../core/errors.ts';
import type { Clock } from '../runtime/clock.ts';
import { endOfJwt } from './jwt.ts';
import { isToken } from './token-answer.ts';
import { MIN_LEFT_MS, type TokenObserver, type TokenSource } from './token-source.ts';

/** A token that something else keeps fresh in a file, as Kubernetes does: read before each use. */
export function tokenFromFile(file: NamedFile, clock: Clock, observer?: TokenObserver): TokenSource {
  let last: string | undefined;
  const read = (): string => {
    const token = readToken(file, clock.wall());
    if (token !== last) observer?.obtained(endOfJwt(token));
    last = token;
    return token;
  };
  return {
    async get() {
      try {
        return read();
      } catch (error) {
        observer?.failed(error as HooklineError);
        throw error;
      }
    },
    // Whatever renews the file decides when.
    reject() {},
    current() {
      try {
        return read();
      } catch {
        return undefined;
      }
    },
  };
}

/** @throws HooklineError ACCESS_TOKEN_UNAVAILABLE */
function readToken({ variable, path }: NamedFile, now: number): string {
  const unavailable = (finding: string, remedy: string, cause?: unknown) =>
    new HooklineError('ACCESS_TOKEN_UNAVAILABLE', `${variable}, ${path}: ${finding}`, { remedy, cause });
  let token: string;
  try {
    token = readFileSync(path, 'utf8').trim();
  } catch (error) {
    throw unavailable(`can't be read (${(error as NodeJS.ErrnoException).code})`, 'mount it there', error);
  }
  if (!isToken(token)) throw unavailable('holds no token', 'check what writes it: one token, on one line');
  const end = endOfJwt(token);
  if (end !== undefined && end - MIN_LEFT_MS <= now) {
    const finding = `its token has ended, or is about to: ${new Date(end).toISOString()}`;
    throw unavailable(finding, 'check what renews it');
  }
  return token;
}
