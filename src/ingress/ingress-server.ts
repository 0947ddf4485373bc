import type { AddressInfo } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ValuesOf } from '../config/env.ts';
import { createSourceFilter, urlHost } from '../config/networks.ts';
import type { RenewalObserver } from '../config/renewed-files.ts';
import type { Metrics } from '../runtime/metrics.ts';
import type { ProcessContext } from '../runtime/process-shell.ts';
import { type AppDeps, createIngressApp } from './app.ts';
import { BodyMemory } from './body/body-memory.ts';
import { memoryShares, spoolBudget } from './body/memory-shares.ts';
import { ConnectionLimits } from './connection-limits.ts';
import { createTlsFiles, listenWidely } from './http-server.ts';
import { createIngressObserver, observeMemory } from './observe-ingress.ts';
import type { IngressConfig, ingressSettings } from './settings.ts';

/** After the last accepted connection: one for what came on it, and two to spare. */
const TURNS_TO_READ = 3;

/** Enough to accept 4,096 connections; who still connects then finds another process. */
const MAX_TURNS_TO_ACCEPT = 256;

export type IngressServer = {
  readonly url: string;
  stop(): Promise<void>;
};

/**
 * Listens. `stop` goes on for STOP_DELAY_MS, so that load balancers notice and connections are closed; then it takes no new
 * connections, finishes the requests in flight and answers others 503.
 */
export async function startIngressServer(
  deps: Pick<AppDeps, 'delivery' | 'keyring' | 'memory'> & {
    readonly settings: ValuesOf<typeof ingressSettings>;
    /** Started while the first large body arrives. */
    readonly large: { warm(): void };
    readonly files: RenewalObserver;
  },
  { logger, metrics, clock, components }: Pick<ProcessContext, 'logger' | 'metrics' | 'clock' | 'components'>,
): Promise<IngressServer> {
  const { settings, delivery, keyring, memory, large, files } = deps;
  const observer = components.add('observer', createIngressObserver({ logger, metrics, keyring }));
  observeMemory(memory, metrics);
  const { tlsCertFile: certFile, tlsKeyFile: keyFile, tlsClientCaFile: clientCaFile } = settings;
  const tls =
    certFile !== undefined && keyFile !== undefined
      ? createTlsFiles({ certFile, keyFile, clientCaFile }, files, clock)
      : undefined;
  const leaving = new AbortController();
  const { allowedSources, trustedProxies } = settings;
  const isBehindProxies = trustedProxies.length > 0;
  const limits = new ConnectionLimits({
    maxConnections: settings.maxConnections,
    maxPerSource: settings.maxConnectionsPerSource,
    isAllowedPeer:
      allowedSources.length > 0 ? createSourceFilter([...allowedSources, ...trustedProxies]) : undefined,
    isBehindProxies,
    onClosed: (reason) => observer.closed(reason),
  });
  const app = createIngressApp({
    delivery,
    keyring,
    observer,
    clock,
    tls,
    onLargeBody: () => large.warm(),
    leaving: leaving.signal,
    limits,
    memory,
    maxBodyBytes: settings.maxBodyBytes,
    requestTimeoutMs: settings.requestTimeoutMs,
    trustedProxies,
    // Without proxies the address of the connection decides, once for all of its requests.
    isAllowedSource: isBehindProxies ? createSourceFilter(allowedSources) : () => true,
  });
  const listening = await listenWidely(app, settings);
  const { address, port } = app.server.address() as AddressInfo;
  const { connectionsOpen } = serverMetrics(metrics);
  metrics.samplers.add(() => connectionsOpen.set(limits.open));
  const url = `${tls ? 'https' : 'http'}://${urlHost(address)}:${port}`;
  logger.info({ url }, 'listening');
  return components.add('http', {
    url,
    async stop() {
      leaving.abort();
      await clock.sleep(settings.stopDelayMs);
      // A busy process has much unread: connections to accept, then their requests. None of it may be cut off as idle.
      for (let turn = 0, idle = 0; turn < MAX_TURNS_TO_ACCEPT && idle < TURNS_TO_READ; turn++) {
        const before = listening.accepted();
        await nextTurn();
        idle = listening.accepted() === before ? idle + 1 : 0;
      }
      await listening.close();
      await tls?.stop();
    },
  });
}

/** What the process needs beside MEMORY_BUDGET_BYTES: see the setting. */
const BESIDE_BODIES = 320 * 1024 ** 2;

/**
 * The memory that MEMORY_BUDGET_BYTES gives to bodies.
 * @param limit of the container; without one a number that no machine has, or 0
 */
export function openBodyMemory(
  { ingress, spool }: Pick<IngressConfig, 'ingress' | 'spool'>,
  { logger, clock }: Pick<ProcessContext, 'logger' | 'clock'>,
  limit = process.constrainedMemory(),
): BodyMemory {
  const { memoryBudgetBytes, maxBodyBytes, admissionWaitMs } = ingress;
  const least = spoolBudget(maxBodyBytes);
  if (spool.dir !== undefined && memoryBudgetBytes < least)
    logger.warn(
      { memoryBudgetBytes, least },
      'MEMORY_BUDGET_BYTES is small for a spool: while Kafka is unavailable, webhooks above 1 MiB may be answered 503',
    );
  if (limit > 0 && limit < memoryBudgetBytes + BESIDE_BODIES)
    logger.warn(
      { memoryBudgetBytes, limit, least: memoryBudgetBytes + BESIDE_BODIES },
      'the memory limit of the container is less than MEMORY_BUDGET_BYTES and 320 MiB more: while large webhooks arrive, the process may be killed for it. Raise the limit, or set a smaller MEMORY_BUDGET_BYTES and MAX_BODY_BYTES',
    );
  const shares = memoryShares(memoryBudgetBytes, maxBodyBytes);
  return new BodyMemory({ ...shares, admissionWaitMs, clock });
}

/** The HTTP server. */
export const serverMetrics = (metrics: Metrics) => ({
  connectionsOpen: metrics.gauge({
    name: 'hookline_connections_open',
    help: 'Connections of webhook senders that are open; at most MAX_CONNECTIONS',
  }),
});
