import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { HooklineError } from '../core/errors.ts';
import { errorAnswer } from './answers.ts';

/** What is still read of a refused body, so that its connection can be used again. */
const LINGER_BYTES = 1024 * 1024;
/** A sender that goes on has so long to see its answer: a reset could take it from it. */
const CUT_MS = 1_000;
const LINGER_MS = 5_000;

/** Discards the rest of a request that was refused before its body was read; cuts it off where that is long. */
export function lingerOn(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return;
  let bytes = 0;
  let cut = setTimeout(() => request.socket.destroy(), LINGER_MS);
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= LINGER_BYTES || request.isPaused()) return;
    request.pause();
    clearTimeout(cut);
    cut = setTimeout(() => request.socket.destroy(), CUT_MS);
  });
  request.once('close', () => clearTimeout(cut));
  // One that was paused on its way goes on.
  request.resume();
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
