import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { RequestListener, Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { createSecureContext, type TlsOptions, Server as TlsServer } from 'node:tls';
import {
  certificatesIn,
  credentialsFault,
  type NamedFile,
  type RenewalObserver,
  renewedFrom,
} from '../config/renewed-files.ts';
import { validityOf } from '../crypto/keys.ts';
import type { Clock, Timer } from '../runtime/clock.ts';
import { hostToListenOn } from '../runtime/listen-host.ts';
import { createServer } from '../runtime/node-http.ts';
import { isClosing } from './answers.ts';
import { countedRequests, FRAGMENTED, isCutOff } from './body/counted-request.ts';
import type { ConnectionLimits } from './connection-limits.ts';

/** Until the head of a request has arrived, or half of REQUEST_TIMEOUT_MS where that is less. A TLS handshake too. */
const HEAD_TIMEOUT_MS = 20_000;

/** A connection without a request. Longer than the 60 s of common load balancers, so that they close it, not we. */
const KEEP_ALIVE_MS = 72_000;
const MAX_HEAD_BYTES = 16 * 1024;

export type HttpServerDeps = {
  readonly requestTimeoutMs: number;
  readonly tls: TlsFiles | undefined;
  readonly limits: ConnectionLimits;
};

/** Node's HTTP or HTTPS server with every limit set, and with the limits of connections before it. */
export function createHttpServer(handler: RequestListener, parts: HttpServerDeps): Server {
  const { requestTimeoutMs, tls, limits } = parts;
  // Node checks neither time-out where that of the head is the longer one.
  const headersTimeout = Math.min(HEAD_TIMEOUT_MS, Math.ceil(requestTimeoutMs / 2));
  const options = {
    requestTimeout: requestTimeoutMs,
    headersTimeout,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionsCheckingInterval: Math.min(1_000, requestTimeoutMs),
    maxHeaderSize: MAX_HEAD_BYTES,
    // A request without Host is refused in the contract's words.
    requireHostHeader: false,
    insecureHTTPParser: false,
    IncomingMessage: countedRequests((socket) => {
      // Before: later the parser no longer passes it on. What still comes is discarded unparsed.
      socket.resume();
      const error = Object.assign(new Error('its chunks are too small'), { code: FRAGMENTED });
      process.nextTick(() => server.emit('clientError', error, socket));
    }),
  };
  // What is behind a request that ends its connection: Node parses all that it has read, thousands of small ones at worst.
  const listener: RequestListener = (request, response) => {
    if (!isClosing(request.socket) && !isCutOff(request.socket)) handler(request, response);
  };
  const server: Server = tls
    ? createTlsServer({ ...options, ...tls.options(), handshakeTimeout: headersTimeout }, listener)
    : createServer(options, listener);
  tls?.renewOn(server as never);
  guardConnections(server, limits, tls !== undefined);
  answerExpectations(server);
  return server;
}

/** Puts the limits in front of Node: what they close costs neither a parser nor a TLS handshake. */
function guardConnections(server: Server, limits: ConnectionLimits, isTls: boolean): void {
  const listeners = server.listeners('connection');
  server.removeAllListeners('connection');
  server.on('connection', (socket: Socket) => {
    if (!limits.admit(socket)) return;
    if (isTls) limits.beginTls(socket);
    for (const listener of listeners) listener.call(server, socket);
  });
  if (isTls) server.on('secureConnection', (socket) => limits.endTls(socket));
}

/**
 * Listening sockets on one port, where the system divides connections among them. libuv (1.52) accepts one connection per
 * socket and turn of the event loop; of a busy process a turn takes 10 ms and more, so that behind a single socket the last
 * of 300 new connections waits for 3 s.
 */
const LISTENING_SOCKETS = process.platform === 'linux' ? 16 : 1;

/**
 * Connections that the system queues on each socket until they are accepted, 8,192 on all of them: it does not divide a burst
 * evenly, and a flood's connections take kernel memory here. Node's default is 511 in all: a burst of more delays the connection
 * of an honest sender by a second, until its system tries again. Linux grants at most `net.core.somaxconn`, 4096 by default.
 */
const BACKLOG = LISTENING_SOCKETS > 1 ? 8_192 / LISTENING_SOCKETS : 4_096;

/** What listens on the port of a server. */
export type WideListener = {
  /** Connections accepted until now. */
  accepted(): number;
  /** Takes no new connections; resolves when those that are open have ended. */
  close(): Promise<void>;
};

/**
 * Makes an app listen on as many sockets as it takes to accept bursts of connections.
 * @throws EADDRINUSE, as one socket would: by itself a port that is shared may be shared with another process too
 */
export async function listenWidely(
  app: { server: Server; listen(options: object): Promise<unknown>; close(): PromiseLike<unknown> },
  given: { host: string; port: number },
): Promise<WideListener> {
  const { server } = app;
  const { port } = given;
  const host = await hostToListenOn(given.host);
  const shared = { backlog: BACKLOG, reusePort: LISTENING_SOCKETS > 1 };
  if (shared.reusePort && port !== 0) await assertFree({ host, port });
  await app.listen({ host, port, ...shared });
  let accepted = 0;
  server.on('connection', () => accepted++);
  const bound = server.address() as AddressInfo;
  const others = await Promise.all(
    Array.from({ length: LISTENING_SOCKETS - 1 }, async () => {
      const other = createTcpServer(
        // As Node sets them for HTTP and for HTTPS.
        { allowHalfOpen: !(server instanceof TlsServer), noDelay: true },
        (socket) => server.emit('connection', socket),
      );
      await once(other.listen({ host: bound.address, port: bound.port, ...shared }), 'listening');
      return other.on('error', (error) => server.emit('error', error));
    }),
  );
  return {
    accepted: () => accepted,
    async close() {
      // Each waits for the connections that it accepted.
      const closed = others.map((other) => once(other.close(), 'close'));
      await Promise.all([app.close(), ...closed]);
    },
  };
}

/** @throws EADDRINUSE */
async function assertFree(address: { host: string; port: number }): Promise<void> {
  const probe = createTcpServer((socket) => socket.destroy()).listen(address);
  await once(probe, 'listening');
  await once(probe.close(), 'close');
}

const EXPECTING = Symbol('expects 100-continue');

/** By default Node answers `100 Continue` to every sender; here only where the body is wanted. */
function answerExpectations(server: Server): void {
  server.on('checkContinue', (request, response) => {
    Object.assign(request, { [EXPECTING]: true });
    server.emit('request', request, response);
  });
  // Node would answer 417 itself and read the body without a limit. RFC 9110 allows to ignore what is not understood.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
}

/** Whether the sender of this request waits for a go-ahead before it sends the body. */
export function isExpecting(request: object): boolean {
  return (request as { [EXPECTING]?: boolean })[EXPECTING] === true;
}

/** The go-ahead was given. */
export function endExpecting(request: object): void {
  Object.assign(request, { [EXPECTING]: false });
}

/** The certificate files of the HTTPS server, read again when they change. */
export type TlsFiles = {
  options(): TlsOptions;
  /** From now on the server uses changed files; connections that are open keep theirs. */
  renewOn(server: TlsServer): void;
  stop(): Promise<void>;
};

const CHECK_EVERY_MS = 5_000;

/** @throws HooklineError CREDENTIALS_INVALID where one of them cannot be used */
export function createTlsFiles(
  paths: { certFile: string; keyFile: string; clientCaFile: string | undefined },
  observer: RenewalObserver,
  clock: Clock,
  checkEveryMs = CHECK_EVERY_MS,
): TlsFiles {
  const certificate = { variable: 'TLS_CERT_FILE', path: paths.certFile };
  const files: NamedFile[] = [certificate, { variable: 'TLS_KEY_FILE', path: paths.keyFile }];
  if (paths.clientCaFile !== undefined)
    files.push({ variable: 'TLS_CLIENT_CA_FILE', path: paths.clientCaFile });
  const current = renewedFrom({
    files,
    read: (path) => readFileSync(path),
    observer,
    make: ([cert, key, clientCa]): TlsOptions => {
      const ca = clientCa && certificatesIn(clientCa, files[2] as NamedFile);
      const pair = { cert, key, minVersion: 'TLSv1.2' as const };
      try {
        createSecureContext(pair);
      } catch (error) {
        const why = (error as NodeJS.ErrnoException).code ?? '';
        throw credentialsFault(
          certificate,
          `does not fit TLS_KEY_FILE (${why})`,
          'give a certificate with its key',
        );
      }
      return ca ? { ...pair, ca, requestCert: true, rejectUnauthorized: true } : pair;
    },
  });
  observer.presents?.(certificate.variable, () => validityOf(current().cert as Buffer));
  let timer: Timer | undefined;
  return {
    options: current,
    renewOn(server) {
      let used = current();
      timer = clock.every(checkEveryMs, () => {
        const next = current();
        if (next !== used) server.setSecureContext(next);
        used = next;
      });
    },
    stop: async () => timer?.cancel(),
  };
}
