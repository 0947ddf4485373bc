import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Receipt } from '../core/delivery.ts';
import { ERRORS, HooklineError } from '../core/errors.ts';
import type { Clock } from '../runtime/clock.ts';
import { costOf, FRAGMENTED, isCut } from './body/counted-request.ts';
import { LAST_TICKET, type Throttle } from './body/throttle.ts';
import type { IngressObserver } from './observe-ingress.ts';

/** An answer as it is sent. */
export type Answer = { readonly status: number; readonly body: string; readonly retryAfter?: string };

/** Seconds after which the sender may try again, where nothing better is known. */
const RETRY_AFTER = '5';

export function receiptAnswer({ eventId, stored }: Receipt): Answer {
  return { status: 200, body: `{"eventId":"${eventId}","stored":"${stored}"}` };
}

/** The error table's answer. It says nothing that is not in the table: all that fail alike are answered alike. */
export function errorAnswer(error: unknown): Answer {
  const code = error instanceof HooklineError ? error.code : 'INTERNAL';
  const status = ERRORS[code].status ?? 500;
  const body = JSON.stringify({ error: code, message: ERRORS[code].text });
  return { status, body, ...(status === 503 ? { retryAfter: RETRY_AFTER } : {}) };
}

/**
 * Answers a request. `mustClose`: nothing more is taken on its connection.
 * @param discarded a request whose rest is still being discarded: Node closes a connection with the end of its last answer, which a sender
 *   that is still sending then does not read
 */
export function sendAnswer(
  response: ServerResponse,
  { status, body, retryAfter }: Answer,
  mustClose: boolean,
  discarded?: IncomingMessage,
): void {
  const headers = mustClose ? ['connection', 'close'] : [];
  if (retryAfter !== undefined) headers.push('retry-after', retryAfter);
  headers.push('content-type', 'application/json; charset=utf-8');
  headers.push('content-length', String(body.length));
  // All of it is ASCII: as such it is sent without a look at each character.
  response.writeHead(status, headers);
  const isLast = mustClose || !response.shouldKeepAlive;
  if (!isLast || !discarded || discarded.complete || discarded.destroyed) {
    response.end(body, 'latin1');
    return;
  }
  response.write(body, 'latin1');
  const end = () => void response.end();
  discarded.once('end', end).once('close', end);
}

export type DiscardOptions = {
  readonly maxBodyBytes: number;
  readonly throttle: Throttle;
  readonly clock: Clock;
  readonly isStopping: () => boolean;
};

/** How many bytes may come beyond the longest body, before the connection is destroyed. */
const DISCARD_REST_BYTES = 1024 * 1024;
const DISCARD_MS = 5_000;
/** What is read of a body that no webhook can have. With what the system buffers it stays below 4 MiB. */
const DISCARD_BYTES = 1024 * 1024;

/**
 * Discards the rest of a webhook that was refused before its body was read, throttled like large bodies and behind them.
 * A connection that is destroyed instead would take the answer with it from a sender that is still sending, and the next
 * request from one that has sent all. It is destroyed where more comes than any body may have, or for too long.
 */
export function discardRest(
  request: IncomingMessage,
  { maxBodyBytes, throttle, clock, isStopping }: DiscardOptions,
): void {
  if (request.complete || request.destroyed) return;
  const { socket } = request;
  answered.add(socket);
  let bytes = 0;
  const destroy = () => socket.destroy();
  const timer = clock.after(DISCARD_MS, destroy);
  const resume = () => void request.resume();
  request.on('data', (chunk: Buffer) => {
    const cost = costOf(request, chunk.length);
    bytes += chunk.length;
    if (bytes > maxBodyBytes + DISCARD_REST_BYTES) destroy();
    else if (!throttle.consume(cost, LAST_TICKET, resume, destroy)) request.pause();
  });
  request.once('close', () => timer.cancel());
  request.once('end', () => {
    answered.delete(socket);
    // A stop ends connections that are idle when it begins. This one was not, and nothing would end it later.
    if (isStopping()) afterAnswers(socket, () => socket.end());
  });
  // One that was paused while it arrived is read on.
  resume();
}

/** Connections whose request was answered while its body still comes: they get no second answer. */
const answered = new WeakSet<Socket>();

/**
 * Discards the body of a request that cannot be a webhook: until it ends, or a small bound is reached. The caller then
 * answers and closes the connection.
 */
export function discardBody(request: IncomingMessage, clock: Clock): Promise<void> {
  if (request.readableEnded || request.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    let bytes = 0;
    const end = () => {
      timer.cancel();
      request.pause();
      resolve();
    };
    const timer = clock.after(DISCARD_MS, end);
    request.on('data', (chunk: Buffer) => {
      bytes += costOf(request, chunk.length);
      if (bytes > DISCARD_BYTES) end();
    });
    request.on('error', () => {});
    request.once('end', end).once('close', end).once('cut', end);
  });
}

type RefuseDeps = { readonly observer: Pick<IngressObserver, 'refused'>; readonly clock: Clock };

/** What Node's parser or a time-out found wrong with a connection, before or beside any handler. */
export function refuseConnection(
  error: NodeJS.ErrnoException,
  socket: Socket,
  deps: RefuseDeps & { readonly observer: Pick<IngressObserver, 'closed'> },
): void {
  if ((socket as { secureConnecting?: boolean }).secureConnecting) {
    socket.destroy();
    // A peer that left in the middle, such as a health check, has not failed.
    if (error.code !== 'ECONNRESET') deps.observer.closed('tls_failed', error);
    return;
  }
  if (socket.destroyed || failed.has(socket)) return;
  if (socket.bytesRead === 0) {
    socket.destroy();
    return deps.observer.closed('silent');
  }
  const failure = failureOf(error);
  // Its answer may still be read; how long that may take is bounded already.
  if (error.code === FRAGMENTED && answered.has(socket)) return stopParsing(socket);
  if (!failure || answered.has(socket)) return void socket.destroy();
  // Its answer is on the way already.
  if (isClosing(socket)) return stopParsing(socket);
  refuseSocket(failure, socket, deps);
}

/** CONNECT: Node hands its socket over, without a parser and without anybody who listens for its errors. */
export function refuseTunnel(socket: Socket, deps: RefuseDeps): void {
  socket.on('error', () => {});
  refuseSocket(new HooklineError('NOT_FOUND'), socket, deps);
}

/** Connections that were refused, and only wait for their last answer to be read. */
const failed = new WeakSet<Socket>();

/** Whether a request whose body did not come whole was answered already, as what is wrong with its connection. */
export const isRefusedAlready = (request: IncomingMessage): boolean =>
  failed.has(request.socket) && (!request.complete || isCut(request));

function refuseSocket(failure: HooklineError, socket: Socket, { observer, clock }: RefuseDeps): void {
  markClosing(socket);
  stopParsing(socket);
  observer.refused(failure, undefined, undefined);
  afterAnswers(socket, () => answerSocket(failure, socket, clock));
}

const CLOSING = Symbol('closed with its next answer');

/** From now on nothing that comes on this connection is taken for a request. */
export function markClosing(socket: Socket): void {
  Object.assign(socket, { [CLOSING]: true });
}

/** Whether an earlier request ended this connection: what follows may be a part of that one. */
export function isClosing(socket: Socket): boolean {
  return (socket as { [CLOSING]?: true })[CLOSING] === true;
}

/** The failure behind an error of a connection; undefined where the peer has gone. */
function failureOf(error: NodeJS.ErrnoException): HooklineError | undefined {
  const { code = '', message } = error;
  // Node's error holds the bytes that it could not read: they may be a body.
  const options = { cause: new Error(`${code}: ${message}`) };
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new HooklineError('BODY_TOO_SLOW', undefined, options);
  if (code === FRAGMENTED) return new HooklineError('BODY_FRAGMENTED');
  if (code === 'HPE_HEADER_OVERFLOW') return new HooklineError('HEADERS_TOO_LARGE', undefined, options);
  if (code === 'HPE_INVALID_EOF_STATE') return new HooklineError('BODY_INCOMPLETE', undefined, options);
  if (code.startsWith('HPE_')) return new HooklineError('REQUEST_MALFORMED', undefined, options);
  return undefined;
}

/** Whatever still comes is no longer parsed, and read only so far as lets the sender read its answer. */
function stopParsing(socket: Socket): void {
  failed.add(socket);
  let bytes = 0;
  socket.removeAllListeners('data');
  socket.on('data', (chunk) => {
    bytes += chunk.length;
    if (bytes > DISCARD_BYTES) socket.destroy();
  });
}

/**
 * Waits for the answers of requests that came whole before, on the same connection: the answer to what is malformed
 * must not be taken for theirs.
 */
function afterAnswers(socket: Socket, then: () => void): void {
  // Node's own field, as its own handler of such errors uses it.
  const { _httpMessage: open } = socket as { _httpMessage?: ServerResponse | null };
  if (open?.req.complete && !isCut(open.req)) open.once('close', () => afterAnswers(socket, then));
  else then();
}

/** Answers on the bare socket and ends it: there is no request to answer any more. */
function answerSocket(error: HooklineError, socket: Socket, clock: Clock): void {
  if (!socket.writable) return void socket.destroy();
  const { status, body } = errorAnswer(error);
  const head = `HTTP/1.1 ${status} ${error.code}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}`;
  socket.end(`${head}\r\nConnection: close\r\n\r\n${body}`);
  clock.after(DISCARD_MS, () => socket.destroy(), { ref: false });
}
