import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Metrics } from './metrics.ts';
import type { ProbeReport, Probes } from './probes.ts';

export type AdminServer = { readonly port: number; stop(): Promise<void> };

/**
 * Serves `/livez`, `/readyz` and `/metrics`. It listens before anything else starts, so that a process that waits
 * for Kafka can say so, and closes last.
 */
export async function startAdminServer(parts: {
  host: string;
  port: number;
  probes: Probes;
  metrics: Metrics;
}): Promise<AdminServer> {
  const server = createServer((request, response) => {
    // Not parsed as a URL: what anyone may send, such as `//`, is none, and nothing here may throw.
    const [path] = (request.url ?? '').split('?', 1);
    if (path === '/livez') return answerProbe(response, parts.probes.liveness());
    if (path === '/readyz') return answerProbe(response, parts.probes.readiness());
    if (path === '/metrics') return void answerMetrics(response, parts.metrics);
    response.writeHead(404).end();
  });
  server.requestTimeout = 5_000;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(parts.port, parts.host, resolve);
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

function answerProbe(response: ServerResponse, report: ProbeReport): void {
  response.writeHead(report.ok ? 200 : 503, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ status: report.ok ? 'ok' : 'failing', reasons: report.reasons }));
}

async function answerMetrics(response: ServerResponse, metrics: Metrics): Promise<void> {
  try {
    for (const sample of metrics.samplers) sample();
    const text = await metrics.registry.metrics();
    response.writeHead(200, { 'content-type': metrics.registry.contentType }).end(text);
  } catch {
    response.writeHead(500).end();
  }
}
