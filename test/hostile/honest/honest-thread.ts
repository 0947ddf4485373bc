/** Honest senders at a steady rate. A latency counts from when the webhook was due: a stall holds up those behind it. */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Agent as HttpAgent, request as requestHttp } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import { parentPort, workerData } from 'node:worker_threads';
import { makeRequest, type SignedRequest, SUBSCRIPTION } from '../../bench/load/bodies.ts';
import { signatureOf } from '../../support/sign.ts';
import type { HonestOptions, HonestResult, HonestSeen, StreamName } from './honest-stream.ts';

/** An answer that has not come by then never comes. */
const PATIENCE_MS = 60_000;
const LARGE_BODIES = 8;
const LARGE_BYTES = 2_000_000;

const options = workerData as HonestOptions;
const isHttps = options.url.startsWith('https:');
const request = isHttps ? requestHttps : requestHttp;
const ca = options.caFile === undefined ? {} : { ca: readFileSync(options.caFile) };
const agentOf = (keepAlive: boolean, maxSockets: number) =>
  isHttps ? new HttpsAgent({ keepAlive, maxSockets, ...ca }) : new HttpAgent({ keepAlive, maxSockets });
/** Without a bound on their number: a request that waited here for a connection would not be at its server. */
const agents = [agentOf(false, Infinity), agentOf(true, Infinity)] as const;

function makeLarge(n: number): SignedRequest {
  const filler = `${n}`.repeat(LARGE_BYTES);
  const message = { type: 'payment-status', entityId: randomUUID(), payload: { status: 'ACCC', filler: '' } };
  message.payload.filler = filler.slice(0, LARGE_BYTES - JSON.stringify(message).length);
  const body = Buffer.from(JSON.stringify(message));
  return { body, mediaType: 'json', signature: signatureOf(SUBSCRIPTION, body) };
}

type Stream = {
  readonly perSecond: number;
  readonly make: (n: number) => SignedRequest;
  sent: number;
  readonly latencies: number[];
  readonly notTaken: Record<string, number>;
};

const large = options.largePerSecond > 0 ? Array.from({ length: LARGE_BODIES }, (_, n) => makeLarge(n)) : [];
const stream = (perSecond: number, make: Stream['make']): Stream => ({
  perSecond,
  make,
  sent: 0,
  latencies: [],
  notTaken: {},
});
const streams: Record<StreamName, Stream> = {
  small: stream(options.smallPerSecond, (n) => makeRequest(n, 'plain')),
  large: stream(options.largePerSecond, (n) => large[n % large.length] as SignedRequest),
};

let stopping = false;
const start = performance.now();
const timer = setInterval(() => {
  const elapsed = (performance.now() - start) / 1_000;
  for (const one of Object.values(streams)) {
    while (one.sent < elapsed * one.perSecond) sendOne(one, one.sent++);
  }
}, 1);

function sendOne(one: Stream, n: number): void {
  const due = start + (n / one.perSecond) * 1_000;
  const { body, signature, mediaType } = one.make(n);
  const headers = {
    'content-type': `application/${mediaType}`,
    'content-length': body.length,
    'x-signature-sha256': signature,
  };
  let ended = false;
  const end = (outcome: string) => {
    if (ended) return;
    ended = true;
    one.latencies.push(performance.now() - due);
    if (outcome !== '200') one.notTaken[outcome] = (one.notTaken[outcome] ?? 0) + 1;
    reportAtEnd();
  };
  const sending = request(options.url, { method: 'POST', agent: agents[n % 2], headers }, (response) => {
    response.resume();
    response.once('end', () => end(String(response.statusCode)));
    response.once('error', (error: NodeJS.ErrnoException) => end(error.code ?? error.message));
  });
  sending.setTimeout(PATIENCE_MS, () => sending.destroy(new Error('no answer')));
  sending.once('error', (error: NodeJS.ErrnoException) => {
    // A kept connection may be closed at the moment at which it is used again: honest senders repeat on a new one.
    if (n % 2 === 1 && sending.reusedSocket && error.code === 'ECONNRESET') return sendAgain();
    end(error.code ?? error.message);
  });
  const sendAgain = () => {
    const again = request(options.url, { method: 'POST', agent: agents[0], headers }, (response) => {
      response.resume();
      response.once('end', () => end(String(response.statusCode)));
    });
    again.setTimeout(PATIENCE_MS, () => again.destroy(new Error('no answer')));
    again.once('error', (failure: NodeJS.ErrnoException) => end(failure.code ?? failure.message));
    again.end(body);
  };
  sending.end(body);
}

function seenOf({ sent, latencies, notTaken }: Stream): HonestSeen {
  const sorted = latencies.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
  return { sent, notTaken, p50: at(0.5), p99: at(0.99), longest: sorted.at(-1) ?? 0 };
}

function reportAtEnd(): void {
  if (!stopping || Object.values(streams).some(({ sent, latencies }) => latencies.length < sent)) return;
  const result: HonestResult = { small: seenOf(streams.small), large: seenOf(streams.large) };
  parentPort?.postMessage(result);
}

parentPort?.once('message', () => {
  clearInterval(timer);
  stopping = true;
  reportAtEnd();
});
