import type { Socket } from 'node:net';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { type ErrorCode, HooklineError } from '../core/errors.ts';
import {
  type Answer,
  discardBody,
  discardRest,
  errorAnswer,
  isClosing,
  markClosing,
  receiptAnswer,
  refuseConnection,
  refuseTunnel,
} from './answers.ts';
import { markRefuted } from './body/open-bodies.ts';
import type { ConnectionLimits } from './connection-limits.ts';
import type { TlsFiles } from './http-server.ts';
import { createHttpServer, endExpecting, isExpecting } from './http-server.ts';
import type { IngressObserver } from './observe-ingress.ts';
import { faultOfHead, receiveWebhook, traceparentOf, type WebhookDeps } from './receive-webhook.ts';

export type AppDeps = WebhookDeps & {
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
export function createIngressApp(deps: AppDeps): FastifyInstance {
  const { observer, limits, clock } = deps;
  const app = fastify({
    trustProxy: deps.trustedProxies.length > 0 ? [...deps.trustedProxies] : false,
    // What still comes on open connections is refused here, with the contract's answers.
    return503OnClosing: false,
    // Bodies are read and bounded here, not by the framework.
    bodyLimit: Number.MAX_SAFE_INTEGER,
    routerOptions: { maxParamLength: MAX_REF_LENGTH },
    serverFactory: (handler) => createHttpServer(handler, deps),
    frameworkErrors: (_error, request, reply) => void refuseRequest(request, reply, 'REQUEST_MALFORMED'),
    clientErrorHandler: (error, socket) => refuseConnection(error, socket, deps),
  }) as unknown as FastifyInstance;
  let stopping = false;
  app.addHook('preClose', async () => {
    stopping = true;
    // Node no longer checks its time-outs once it is closing, and would wait for half a head forever.
    clock.after(STOP_HEAD_MS, () => limits.closeWithoutRequest(), { ref: false });
    deps.memory.throttle.disable();
  });
  const send = (reply: FastifyReply, { status, body, retryAfter }: Answer) => {
    // The sender's next request then takes a new connection, to a process that stays; one that was left open would
    // hold up the stop, and be cut in the middle of a request.
    if (stopping || deps.leaving.aborted) reply.header('connection', 'close');
    if (retryAfter !== undefined) reply.header('retry-after', retryAfter);
    return reply.code(status).type('application/json').send(body);
  };
  const discarding = {
    maxBodyBytes: deps.maxBodyBytes,
    ...{ throttle: deps.memory.throttle, clock },
    isStopping: () => stopping,
  };
  // Of its own: the framework's `reply.elapsedTime` stays 0 where it neither logs nor has a hook on the response.
  const secondsSince = (began: number) => (clock.now() - began) / 1_000;
  const refuse = (request: FastifyRequest, reply: FastifyReply, thrown: unknown, began?: number) => {
    const error = asFailure(thrown, request);
    const { ref } = (request.params ?? {}) as { ref?: string };
    observer.refused(error, ref, began === undefined ? undefined : secondsSince(began));
    // A sender that still waits for a go-ahead won't send its body: the connection can't be used again.
    if (isExpecting(request.raw)) reply.header('connection', 'close');
    else discardRest(request.raw, discarding);
    return send(reply, errorAnswer(error));
  };
  // What cannot be a webhook: no connection is kept for it, and little of its body is read.
  const refuseRequest = async (request: FastifyRequest, reply: FastifyReply, code: ErrorCode) => {
    const { socket } = request.raw;
    if (isClosing(socket)) return reply.hijack();
    markClosing(socket);
    const error = new HooklineError(code);
    observer.refused(error, undefined, undefined);
    reply.header('connection', 'close');
    if (!isExpecting(request.raw)) await discardBody(request.raw, clock);
    return send(reply, errorAnswer(error));
  };
  app.server.on('connect', (_request, socket) => refuseTunnel(socket as Socket, deps));
  app.removeAllContentTypeParsers();
  // Named ones are looked up; what falls to the asterisk is parsed again for each request.
  const unread = ['application/json', 'application/octet-stream', '*'];
  for (const type of unread) app.addContentTypeParser(type, (_request, _payload, done) => done(null));
  app.setNotFoundHandler((request, reply) => refuseRequest(request, reply, 'NOT_FOUND'));
  app.setErrorHandler((error, request, reply) =>
    request.is404 ? refuseRequest(request, reply, 'NOT_FOUND') : refuse(request, reply, error),
  );
  app.post<{ Params: { ref: string } }>('/webhooks/:ref', async (request, reply) => {
    const { socket } = request.raw;
    if (isClosing(socket)) return reply.hijack();
    const began = clock.now();
    const fault = faultOfHead(request.raw);
    if (fault) return refuseRequest(request, reply, fault);
    let endRequest: (() => void) | undefined;
    if (!limits.beginPipelined(socket)) {
      markClosing(socket);
      return reply.hijack();
    }
    try {
      if (stopping) throw new HooklineError('STOPPING');
      const { params, ip: address, headers, raw } = request;
      const { ref } = params;
      // The sender has gone, and its address with it: whether it may send is not known.
      if (address === undefined) throw new HooklineError('BODY_INCOMPLETE');
      endRequest = limits.beginRequest(address);
      const wantBody = () => continueIfExpected(request, reply);
      const traceparent = traceparentOf(headers);
      const receipt = await receiveWebhook({ ref, address, headers, raw, wantBody, traceparent }, deps);
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

/** What the framework refuses by itself, and what a sender that has gone leaves behind, as errors of ours. */
function asFailure(error: unknown, request: FastifyRequest): unknown {
  if (error instanceof HooklineError) return error;
  const { statusCode = 500, code = '' } = error as { statusCode?: number; code?: string };
  const named = (name: ErrorCode) => new HooklineError(name, undefined, { cause: error });
  if (statusCode === 415) return named('MEDIA_TYPE_UNSUPPORTED');
  if (statusCode < 500) return named('REQUEST_MALFORMED');
  return request.raw.socket.destroyed && CONNECTION_CODES.test(code) ? named('BODY_INCOMPLETE') : error;
}

/** Node's codes for a connection that the other side has ended. */
const CONNECTION_CODES = /^(ECONNRESET|ECONNABORTED|EPIPE|ERR_STREAM_\w+|ERR_HTTP_\w+)$/;

function continueIfExpected(request: FastifyRequest, reply: FastifyReply): void {
  if (!isExpecting(request.raw)) return;
  endExpecting(request.raw);
  reply.raw.writeContinue();
}
