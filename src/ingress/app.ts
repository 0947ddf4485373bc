import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { createSourceFilter } from '../config/networks.ts';
import { type ErrorCode, HooklineError } from '../core/errors.ts';
import {
  discardBody,
  discardRest,
  errorAnswer,
  isClosing,
  isRefusedAlready,
  markClosing,
  receiptAnswer,
  refuseConnection,
  refuseTunnel,
  sendAnswer,
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

/** A request as Node has it, with its answer. */
type Exchange = { readonly request: IncomingMessage; readonly response: ServerResponse };

/** Whom X-Forwarded-For is believed: Fastify's own list knows no address with a port. Of a sender that has gone there is none. */
function trusting(networks: readonly string[]) {
  const isTrusted = createSourceFilter(networks);
  return (address: string | undefined) => address !== undefined && isTrusted(address);
}

/**
 * The webhooks' HTTP server, apart from its `listen`. Webhooks are answered on Node's own objects: their path passes
 * by Fastify's router and reply, which cost as much as to verify and store a webhook; all else takes Fastify's way here.
 */
export function createIngressApp(deps: AppDeps): FastifyInstance {
  const { observer, limits, clock } = deps;
  const isBehindProxies = deps.trustedProxies.length > 0;
  const app = fastify({
    trustProxy: isBehindProxies && trusting(deps.trustedProxies),
    // What still comes on open connections is refused here, with the contract's answers.
    return503OnClosing: false,
    // Bodies are read and bounded here, not by the framework.
    bodyLimit: Number.MAX_SAFE_INTEGER,
    routerOptions: { maxParamLength: MAX_REF_LENGTH },
    serverFactory: (route) =>
      createHttpServer((request, response) => {
        const ref = isBehindProxies ? undefined : plainRefOf(request);
        if (ref === undefined) return void route(request, response);
        answerWebhook(ref, request.socket.remoteAddress, { request, response });
      }, deps),
    frameworkErrors: (_error, request, reply) =>
      void refuseRequest(taken(request, reply), 'REQUEST_MALFORMED'),
    clientErrorHandler: (error, socket) => refuseConnection(error, socket, deps),
  }) as unknown as FastifyInstance;
  let stopping = false;
  app.addHook('preClose', async () => {
    stopping = true;
    // Node no longer checks its time-outs once it is closing, and would wait for half a head forever.
    clock.after(STOP_HEAD_MS, () => limits.closeWithoutRequest(), { ref: false });
    deps.memory.throttle.disable();
  });
  const discarding = {
    maxBodyBytes: deps.maxBodyBytes,
    throttle: deps.memory.throttle,
    clock,
    isStopping: () => stopping,
  };
  // The sender's next request then takes a new connection, to a process that stays; one that was left open would
  // hold up the stop, and be destroyed in the middle of a request.
  const isEnding = ({ headers }: IncomingMessage) =>
    stopping ||
    deps.leaving.aborted ||
    // What came with such a request in one piece, Node drops: the next answer would be taken for that of a request that nobody has read.
    headers.upgrade !== undefined;
  const secondsSince = (began: number) => (clock.now() - began) / 1_000;
  const refuse = ({ request, response }: Exchange, thrown: unknown, ref?: string, began?: number) => {
    if (isRefusedAlready(request)) return;
    const error = asFailure(thrown, request);
    observer.refused(error, ref, began === undefined ? undefined : secondsSince(began));
    // A sender that still waits for a go-ahead won't send its body: the connection can't be used again.
    const mustClose = isExpecting(request);
    if (!mustClose) discardRest(request, discarding);
    const discarded = mustClose || stopping ? undefined : request;
    sendAnswer(response, errorAnswer(error), mustClose || isEnding(request), discarded);
  };
  // What cannot be a webhook: no connection is kept for it, and little of its body is read.
  const refuseRequest = async ({ request, response }: Exchange, code: ErrorCode) => {
    const { socket } = request;
    if (isClosing(socket)) return;
    markClosing(socket);
    const error = new HooklineError(code);
    observer.refused(error, undefined, undefined);
    if (!isExpecting(request)) await discardBody(request, clock);
    sendAnswer(response, errorAnswer(error), true);
  };
  const takeWebhook = async (ref: string, address: string | undefined, exchange: Exchange) => {
    const { request: raw, response } = exchange;
    const { socket, headers } = raw;
    if (isClosing(socket)) return;
    const began = clock.now();
    const fault = faultOfHead(raw);
    if (fault) return refuseRequest(exchange, fault);
    let endRequest: (() => void) | undefined;
    if (!limits.beginPipelined(socket)) return markClosing(socket);
    try {
      if (stopping) throw new HooklineError('STOPPING');
      // The sender has gone, and its address with it: whether it may send is not known.
      if (address === undefined) throw new HooklineError('BODY_INCOMPLETE');
      endRequest = limits.beginRequest(address);
      const wantBody = () => continueIfExpected(exchange);
      const traceparent = traceparentOf(headers);
      const receipt = await receiveWebhook({ ref, address, headers, raw, wantBody, traceparent }, deps);
      observer.accepted(ref, receipt, secondsSince(began));
      sendAnswer(response, receiptAnswer(receipt), isEnding(raw));
    } catch (error) {
      if (error instanceof HooklineError && error.code === 'UNAUTHENTIC') markRefuted(socket);
      refuse(exchange, error, ref, began);
    } finally {
      endRequest?.();
      limits.endPipelined(socket);
    }
  };
  // A fault in the answering itself: nothing is promised, and no stranger may end the process by it.
  const answerWebhook = (ref: string, address: string | undefined, exchange: Exchange) =>
    takeWebhook(ref, address, exchange).catch((error) => {
      exchange.request.socket.destroy();
      observer.refused(error, ref, undefined);
    });
  app.server.on('connect', (_request, socket) => refuseTunnel(socket as Socket, deps));
  app.removeAllContentTypeParsers();
  // Named ones are looked up; what falls to the asterisk is parsed again for each request.
  const unread = ['application/json', 'application/octet-stream', '*'];
  for (const type of unread) app.addContentTypeParser(type, (_request, _payload, done) => done(null));
  app.setNotFoundHandler((request, reply) => refuseRequest(taken(request, reply), 'NOT_FOUND'));
  app.setErrorHandler((error, request, reply) => {
    const exchange = taken(request, reply);
    if (request.is404) return refuseRequest(exchange, 'NOT_FOUND');
    const { ref } = (request.params ?? {}) as { ref?: string };
    // A media type that Fastify cannot read: refused by the handler, which checks other things first.
    if (ref !== undefined && (error as { statusCode?: number }).statusCode === 415)
      return answerWebhook(ref, request.ip, exchange);
    return refuse(exchange, error, ref);
  });
  app.post<{ Params: { ref: string } }>('/webhooks/:ref', (request, reply) =>
    answerWebhook(request.params.ref, request.ip, taken(request, reply)),
  );
  return app;
}

const WEBHOOKS = '/webhooks/';
/** A ref that reads the same in a path, without escapes, a query or another segment: as nearly all are. */
const PLAIN_REF = /^[\w.-]+$/;

/** The ref of a webhook's path, where it needs no router; undefined otherwise. */
function plainRefOf({ method, url = '' }: IncomingMessage): string | undefined {
  if (method !== 'POST' || !url.startsWith(WEBHOOKS)) return undefined;
  const ref = url.slice(WEBHOOKS.length);
  return PLAIN_REF.test(ref) ? ref : undefined;
}

/** From here on the answer is ours to give. */
function taken(request: FastifyRequest, reply: FastifyReply): Exchange {
  reply.hijack();
  return { request: request.raw, response: reply.raw };
}

/** What the framework refuses by itself, and what a sender that has gone leaves behind, as errors of ours. */
function asFailure(error: unknown, request: IncomingMessage): unknown {
  if (error instanceof HooklineError) return error;
  const { statusCode = 500, code = '' } = error as { statusCode?: number; code?: string };
  const named = (name: ErrorCode) => new HooklineError(name, undefined, { cause: error });
  if (statusCode === 415) return named('MEDIA_TYPE_UNSUPPORTED');
  if (statusCode < 500) return named('REQUEST_MALFORMED');
  return request.socket.destroyed && CONNECTION_CODES.test(code) ? named('BODY_INCOMPLETE') : error;
}

/** Node's codes for a connection that the other side has ended. */
const CONNECTION_CODES = /^(ECONNRESET|ECONNABORTED|EPIPE|ERR_STREAM_\w+|ERR_HTTP_\w+)$/;

function continueIfExpected({ request, response }: Exchange): void {
  if (!isExpecting(request)) return;
  endExpecting(request);
  response.writeContinue();
}
