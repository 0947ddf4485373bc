import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { HooklineError } from '../core/errors.ts';
import { errorAnswer } from './answers.ts';

/** What is still read of a refused body, so that the answer isn't lost to a reset, before the connection is cut. */
const LINGER_BYTES = 1024 * 1024;
const LINGER_MS = 5_000;

/** Discards the rest of a request that was refused before its body was read; cuts it off where that is long. */
export function lingerOn(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return;
  let bytes = 0;
  const cut = setTimeout(() => request.socket.destroy(), LINGER_MS);
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > LINGER_BYTES) request.socket.destroy();
  });
  request.once('close', () => clearTimeout(cut));
}

/** The failure behind an error of the connection itself, before or beside any handler. */
export function connectionError(error: NodeJS.ErrnoException): HooklineError {
  const isLate = error.code === 'ERR_HTTP_REQUEST_TIMEOUT';
  return new HooklineError(isLate ? 'BODY_TOO_SLOW' : 'BODY_INCOMPLETE', undefined, { cause: error });
}

/** Answers on the bare socket and ends it: there is no request to answer any more. */
export function answerSocket(error: HooklineError, socket: Socket): void {
  if (!socket.writable) return void socket.destroy();
  const { status, body } = errorAnswer(error);
  const head = `HTTP/1.1 ${status} ${error.code}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}`;
  socket.end(`${head}\r\nConnection: close\r\n\r\n${body}`);
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}
