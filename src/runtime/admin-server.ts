import type { ServerResponse } from 'node:http';
import type { AddressInfo, Server, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { hostToListenOn } from './listen-host.ts';
import type { Metrics } from './metrics.ts';
import { createServer } from './node-http.ts';

/** A request comes whole in this time, and its answer is taken within twice as long. */
const REQUEST_TIMEOUT_MS = 5_000;
/** Far more than those who probe and scrape have. */
const MAX_CONNECTIONS = 256;

export type AdminServer = { readonly port: number; stop(): Promise<void> };

/**
 * Serves `/livez`, `/readyz` and `/metrics`. It listens before anything else starts, so that a process that waits
 * for Kafka can say so, and closes last.
 */
export async function startAdminServer(deps: {
  host: string;
  port: number;
  probes: Probes;
  metrics: Metrics;
  /** A test may give others. */
  requestTimeoutMs?: number;
  maxConnections?: number;
}): Promise<AdminServer> {
  const scrape = createScrape(deps.metrics);
  const { requestTimeoutMs = REQUEST_TIMEOUT_MS } = deps;
  const timeouts = {
    requestTimeout: requestTimeoutMs,
    headersTimeout: requestTimeoutMs,
    connectionsCheckingInterval: Math.min(1_000, requestTimeoutMs),
  };
  const server = createServer(timeouts, (request, response) => {
    // Not parsed as a URL: what anyone may send, such as `//`, is none, and nothing here may throw.
    const [path] = (request.url ?? '').split('?', 1);
    if (path === '/livez') return answerProbe(response, deps.probes.liveness());
    if (path === '/readyz') return answerProbe(response, deps.probes.readiness());
    if (path === '/metrics') return void answerMetrics(response, deps.metrics, scrape);
    response.writeHead(404).end();
  });
  limitConnections(server, deps.maxConnections ?? MAX_CONNECTIONS, 2 * requestTimeoutMs);
  const host = await hostToListenOn(deps.host);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(deps.port, host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/**
 * Where there are too many, one is closed for the new one, as a refused probe would restart the pod: the oldest without a request in
 * progress, or else the one whose client has not taken its answer for longest. An answer with the metrics takes its time.
 */
function limitConnections(server: Server, max: number, answerTimeoutMs: number): void {
  const open = new Set<Socket>();
  /** Those with a request in progress, the longest first. */
  const busy = new Map<Socket, ServerResponse>();
  server.on('connection', (socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    if (open.size <= max) return;
    const idle = [...open].find((one) => one !== socket && !busy.has(one));
    const [untaken] = [...busy].find(([, { writableEnded }]) => writableEnded) ?? [];
    const [longest] = busy.keys();
    (idle ?? untaken ?? longest ?? socket).destroy();
  });
  server.on('request', ({ socket }, response) => {
    busy.set(socket, response);
    // Node waits without end for who does not read.
    const timer = setTimeout(() => socket.destroy(), answerTimeoutMs);
    response.once('close', () => {
      clearTimeout(timer);
      if (busy.get(socket) === response) busy.delete(socket);
    });
  });
}

function answerProbe(response: ServerResponse, report: ProbeReport): void {
  response.writeHead(report.ok ? 200 : 503, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ status: report.ok ? 'ok' : 'failing', reasons: report.reasons }));
}

async function answerMetrics(
  response: ServerResponse,
  { registry }: Metrics,
  scrape: () => Promise<string>,
): Promise<void> {
  try {
    const text = await scrape();
    response.writeHead(200, { 'content-type': registry.contentType }).end(text);
  } catch {
    response.writeHead(500).end();
  }
}

/** Times as long as it took to make the metrics' text, none is made. */
const REST = 10;
const MAX_REST_MS = 1_000;

/**
 * The metrics as text. Making it takes milliseconds of the thread that serves webhooks, and anyone who reaches the port may
 * ask without end: requests in the meantime wait, and share one answer.
 */
function createScrape({ samplers, registry }: Metrics): () => Promise<string> {
  let waiting: Promise<string> | undefined;
  let resting: Promise<unknown> = Promise.resolve();
  const make = async () => {
    await resting;
    waiting = undefined;
    const start = performance.now();
    const text = (async () => {
      for (const sample of samplers) sample();
      return registry.metrics();
    })();
    const rest = () => sleep(Math.min(REST * (performance.now() - start), MAX_REST_MS), null, { ref: false });
    resting = text.then(rest, rest);
    return text;
  };
  return () => {
    waiting ??= make();
    return waiting;
  };
}

/**
 * The health of a process. A check returns null when all is well, else a sentence: why not, and since when;
 * one that throws counts as not well.
 * Liveness never depends on Kafka, the registry or the provider: a restart repairs none of them.
 */
export type Check = () => string | null;

export type Probes = {
  /** Adds a condition of readiness; the returned function takes it back. */
  readyWhen(name: string, check: Check): () => void;
  /** Adds a condition of liveness: only what a restart would repair. */
  aliveWhen(name: string, check: Check): () => void;
  readiness(): ProbeReport;
  liveness(): ProbeReport;
};

type ProbeReport = { readonly ok: boolean; readonly reasons: Readonly<Record<string, string>> };

export function createProbes(): Probes {
  const ready = new Map<string, Check>();
  const alive = new Map<string, Check>();
  const add = (checks: Map<string, Check>, name: string, check: Check) => {
    checks.set(name, check);
    return () => {
      // Another may have taken the name since.
      if (checks.get(name) === check) checks.delete(name);
    };
  };
  return {
    readyWhen: (name, check) => add(ready, name, check),
    aliveWhen: (name, check) => add(alive, name, check),
    readiness: () => report(ready),
    liveness: () => report(alive),
  };
}

function report(checks: Map<string, Check>): ProbeReport {
  const reasons: Record<string, string> = {};
  for (const [name, check] of checks) {
    const why = outcome(check);
    if (why !== null) reasons[name] = why;
  }
  return { ok: Object.keys(reasons).length === 0, reasons };
}

function outcome(check: Check): string | null {
  try {
    return check();
  } catch (error) {
    return `the check failed: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** Metrics of every process: whether it is ready, and the longest delay of its event loop. */
export function observeProcess({
  metrics,
  probes,
  now = () => performance.now(),
}: {
  metrics: Metrics;
  probes: Probes;
  /** A test may have another. */
  now?: () => number;
}): { stop(): Promise<void> } {
  const own = processMetrics(metrics);
  /** The longest of each slot; its last one is the present one. */
  const longestMs = new Array<number>(DELAY_SLOTS).fill(0);
  let lastTick = now();
  const note = () => {
    const at = now();
    const passed = Math.floor(at / DELAY_SLOT_MS) - Math.floor(lastTick / DELAY_SLOT_MS);
    for (let n = 0; n < Math.min(passed, DELAY_SLOTS); n++) {
      longestMs.shift();
      longestMs.push(0);
    }
    longestMs.push(Math.max(longestMs.pop() ?? 0, at - lastTick - TICK_MS));
    lastTick = at;
  };
  // Node's own histogram of the loop's delay misses single long delays.
  const timer = setInterval(note, TICK_MS);
  timer.unref();
  metrics.samplers.add(() => {
    own.ready.set(probes.readiness().ok ? 1 : 0);
    // The scrape may come before the tick that was delayed along with it.
    if (now() - lastTick > TICK_MS) note();
    own.loopDelay.set(Math.max(...longestMs) / 1000);
  });
  return { stop: async () => clearInterval(timer) };
}

/** The process itself. */
export const processMetrics = (metrics: Metrics) => ({
  ready: metrics.gauge({
    name: 'hookline_ready',
    help: '1 while /readyz says yes, else 0',
  }),
  loopDelay: metrics.gauge({
    name: 'hookline_loop_delay_seconds',
    help: 'Longest time that the event loop was held up within the last minute',
  }),
});

/** Often enough to find a delay of some ten milliseconds, and 20 wake-ups a second cost nothing. */
const TICK_MS = 50;

/**
 * A whole minute, behind the slot that is not over: two Prometheus servers, which may come once a minute, and the console every five
 * seconds, read the same process, and each has to see a delay.
 */
const DELAY_SLOTS = 7;
const DELAY_SLOT_MS = 10_000;
