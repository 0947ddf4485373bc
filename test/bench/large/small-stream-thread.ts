/** A stream of small webhooks at a steady rate, in a thread of its own, so that nothing but the ingress slows it down. */
import { Agent, request } from 'node:http';
import { parentPort, workerData } from 'node:worker_threads';
import { makeRequest } from '../load/bodies.ts';
import type { Percentiles } from './small-stream.ts';

const { url, perSecond } = workerData as { url: string; perSecond: number };
const agent = new Agent({ keepAlive: true, maxSockets: 64 });
/** Every other one is of the type that the large ones are of. */
const TYPES = ['payment-status', 'collection-status'] as const;
const latencies: [same: number[], other: number[]] = [[], []];
let failed = 0;
let sent = 0;
let stopping = false;
const start = performance.now();

const timer = setInterval(() => {
  const due = ((performance.now() - start) / 1_000) * perSecond;
  while (sent < due) sendOne(sent++);
}, 1);

function sendOne(n: number): void {
  // From when it was due: a stall of the ingress holds up those that come after it, too.
  const due = start + (n / perSecond) * 1_000;
  const { body, signature } = makeRequest(n, 'plain', TYPES[n % 2]);
  const headers = {
    'content-type': 'application/json',
    'content-length': body.length,
    'x-signature-sha256': signature,
  };
  const end = (ok: boolean) => {
    latencies[n % 2]?.push(performance.now() - due);
    if (!ok) failed++;
    if (stopping && answered() === sent) report();
  };
  const sending = request(url, { method: 'POST', agent, headers }, (response) => {
    response.resume();
    response.once('end', () => end(response.statusCode === 200));
  });
  sending.once('error', () => end(false));
  sending.end(body);
}

const answered = () => latencies[0].length + latencies[1].length;

function report(): void {
  const [same, other] = latencies;
  const otherType = percentiles(other);
  parentPort?.postMessage({ sent, failed, ...percentiles([...same, ...other]), otherType });
  parentPort?.close();
  agent.destroy();
}

function percentiles(latencies: readonly number[]): Percentiles {
  const sorted = latencies.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
  return { p50: at(0.5), p99: at(0.99), max: sorted.at(-1) ?? 0 };
}

parentPort?.once('message', () => {
  clearInterval(timer);
  stopping = true;
  if (answered() === sent) report();
});
