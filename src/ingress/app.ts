import type { Socket } from 'node:net';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { type ErrorCode, HooklineError } from '../core/errors.ts';
import {
  type Answer,
  discardBody,
  errorAnswer,
  isClosing,
  lingerOn,
  markClosing,
  receiptAnswer,
  refuseConnection,
  refuseTunnel,
} from './answers.ts';
import { markRefuted } from './body/connection-standing.ts';
import type { ConnectionLimits } from './connection-limits.ts';
import { createHttpServer, endExpecting, isExpecting } from './http-server.ts';
import type { IngressObserver } from './observe-ingress.ts';
import { faultOfHead, receiveWebhook, traceparentOf, type WebhookParts } from './receive-webhook.ts';
import type { TlsFiles } from './tls-files.ts';

export type AppParts = WebhookParts & {
  readonly observer: IngressObserver;
  readonly trustedProxies: readonly string[];
  readonly requestTimeoutMs: number;
  /** Aborted before the stop: what comes is still taken, and connections are ended with their next answer. */
  readonly leaving: AbortSignal;
  readonly tls: TlsFiles | undefined;
  readonly limits: ConnectionLimits;
};

/** How long a stop waits for heads that have begun. */
const STOP_HEAD_MS = 1_000;

/** Longer than any head may be: a ref of any length is an unknown ref, and answered as such. */
const MAX_REF_LENGTH = 64 * 1024;

/** The webhooks' HTTP server, apart from its `listen`. */
export function createIngressApp(parts: AppParts): FastifyInstance {
  const { observer, limits } = parts;
  const app = fastify({
    trustProxy: parts.trustedProxies.length > 0 ? [...parts.trustedProxies] : false,
    // What still comes on open connections is refused here, in the contract's words.
    return503OnClosing: false,
    // Bodies are read and bounded here, not by the framework.
    bodyLimit: Number.MAX_SAFE_INTEGER,
    routerOptions: { maxParamLength: MAX_REF_LENGTH },
    serverFactory: (handler) => createHttpServer(handler, parts),
    frameworkErrors: (_error, request, reply) => void dismiss(request, reply, 'REQUEST_MALFORMED'),
    clientErrorHandler: (error, socket) => refuseConnection(error, socket, observer),
  }) as unknown as FastifyInstance;
  let stopping = false;
  app.addHook('preClose', async () => {
    stopping = true;
    // Node no longer looks at its time-outs once it is told to close, and would wait for half a head for ever.
    setTimeout(() => limits.closeWithoutRequest(), STOP_HEAD_MS).unref();
    parts.memory.pacer.hurry();
  });
  const send = (reply: FastifyReply, { status, body, retryAfter }: Answer) => {
    // The sender's next request then takes a new connection, to a process that stays; one that was left open would
    // hold up the stop, and be cut in the middle of a request.
    if (stopping || parts.leaving.aborted) reply.header('connection', 'close');
    if (retryAfter !== undefined) reply.header('retry-after', retryAfter);
    return reply.code(status).type('application/json').send(body);
  };
  const lingering = {
    maxBodyBytes: parts.maxBodyBytes,
    pacer: parts.memory.pacer,
    isStopping: () => stopping,
  };
  // Of its own: the framework's `reply.elapsedTime` stays 0 where it neither logs nor has a hook on the response.
  const secondsSince = (began: number) => (performance.now() - began) / 1_000;
  const refuse = (request: FastifyRequest, reply: FastifyReply, thrown: unknown, began?: number) => {
    const error = asFailure(thrown, request);
    const { ref } = (request.params ?? {}) as { ref?: string };
    observer.refused(error, ref, began === undefined ? undefined : secondsSince(began));
    // A sender that still waits for a go-ahead won't send its body: the connection can't be used again.
    if (isExpecting(request.raw)) reply.header('connection', 'close');
    else lingerOn(request.raw, lingering);
    return send(reply, errorAnswer(error));
  };
  // What cannot be a webhook: nobody is owed a connection for it, nor the time to send what is not wanted.
  const dismiss = async (request: FastifyRequest, reply: FastifyReply, code: ErrorCode) => {
    const { socket } = request.raw;
    if (isClosing(socket)) return reply.hijack();
    markClosing(socket);
    const error = new HooklineError(code);
    observer.refused(error, undefined, undefined);
    reply.header('connection', 'close');
    if (!isExpecting(request.raw)) await discardBody(request.raw);
    return send(reply, errorAnswer(error));
  };
  app.server.on('connect', (_request, socket) => refuseTunnel(socket as Socket, observer));
  app.removeAllContentTypeParsers();
  // Named ones are looked up; what falls to the asterisk is taken apart anew for each request.
  const unread = ['application/json', 'application/octet-stream', '*'];
  for (const type of unread) app.addContentTypeParser(type, (_request, _payload, done) => done(null));
  app.setNotFoundHandler((request, reply) => dismiss(request, reply, 'NOT_FOUND'));
  app.setErrorHandler((error, request, reply) =>
    request.is404 ? dismiss(request, reply, 'NOT_FOUND') : refuse(request, reply, error),
  );
  app.post<{ Params: { ref: string } }>('/webhooks/:ref', async (request, reply) => {
    const { socket } = request.raw;
    if (isClosing(socket)) return reply.hijack();
    const began = performance.now();
    const fault = faultOfHead(request.raw);
    if (fault) return dismiss(request, reply, fault);
    let endRequest: (() => void) | undefined;
    if (!limits.beginPipelined(socket)) {
      markClosing(socket);
      return reply.hijack();
    }
    try {
      if (stopping) throw new HooklineError('STOPPING');
      const { params, ip: address, headers, raw } = request;
      const { ref } = params;
      // The sender has gone: with it went what would tell whether it may send.
      if (address === undefined) throw new HooklineError('BODY_INCOMPLETE');
      endRequest = limits.beginRequest(address);
      const wantBody = () => continueIfExpected(request, reply);
      const traceparent = traceparentOf(headers);
      const receipt = await receiveWebhook({ ref, address, headers, raw, wantBody, traceparent }, parts);
      observer.accepted(ref, receipt, secondsSince(began));
      return send(reply, receiptAnswer(receipt));
    } catch (error) {
      if (error instanceof HooklineError && error.code === 'UNAUTHENTIC') markRefuted(socket);
      return refuse(request, reply, error, began);
    } finally {
      endRequest?.();
      limits.endPipelined(socket);
    }
  });
  return app;
}

/** What the framework refuses by itself, and what a sender that has gone leaves behind, in our words. */
function asFailure(error: unknown, request: FastifyRequest): unknown {
  if (error instanceof HooklineError) return error;
  const { statusCode = 500, code = '' } = error as { statusCode?: number; code?: string };
  const named = (name: ErrorCode) => new HooklineError(name, undefined, { cause: error });
  if (statusCode === 415) return named('MEDIA_TYPE_UNSUPPORTED');
  if (statusCode < 500) return named('REQUEST_MALFORMED');
  return request.raw.socket.destroyed && CONNECTION_CODES.test(code) ? named('BODY_INCOMPLETE') : error;
}

/** What Node says of a connection that the other side has ended. */
const CONNECTION_CODES = /^(ECONNRESET|ECONNABORTED|EPIPE|ERR_STREAM_\w+|ERR_HTTP_\w+)$/;

function continueIfExpected(request: FastifyRequest, reply: FastifyReply): void {
  if (!isExpecting(request.raw)) return;
  endExpecting(request.raw);
  reply.raw.writeContinue();
}
