import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { HooklineError } from '../core/errors.ts';
import { errorAnswer } from './answers.ts';
import { LAST_PLACE, type Pacer } from './bodies/pacer.ts';

/** What may come beyond the longest body, before the connection is cut. */
const LINGER_BYTES = 1024 * 1024;
const LINGER_MS = 5_000;

/**
 * Discards the rest of a request that was refused before its body was read, at the pace of large bodies and behind them.
 * A connection that were cut instead would take the answer with it from a sender that is still sending, and the next
 * request from one that has sent all. It is cut where more comes than any body may have, or for too long.
 */
export function lingerOn(
  request: IncomingMessage,
  { maxBodyBytes, pacer, isStopping }: { maxBodyBytes: number; pacer: Pacer; isStopping: () => boolean },
): void {
  if (request.complete || request.destroyed) return;
  let bytes = 0;
  const cut = () => request.socket.destroy();
  const timer = setTimeout(cut, LINGER_MS);
  const goOn = () => void request.resume();
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > maxBodyBytes + LINGER_BYTES) cut();
    else if (!pacer.take(chunk.length, LAST_PLACE, goOn)) request.pause();
  });
  request.once('close', () => clearTimeout(timer));
  // A stop ends connections that are idle when it begins. This one was not, and nobody would end it later.
  request.once('end', () => {
    if (isStopping()) request.socket.end();
  });
  // One that was paused on its way goes on.
  goOn();
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
