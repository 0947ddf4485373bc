import type { AddressInfo } from 'node:net';
import { urlHost } from '../config/networks.ts';
import { type Clock, systemClock } from '../runtime/clock.ts';
import { hostToListenOn } from '../runtime/listen-host.ts';
import { createLogger, type Logger } from '../runtime/logger.ts';
import { createSandboxApp } from './app.ts';
import { createSandboxComponents } from './components.ts';
import { defaultOptions, type SandboxOptions } from './config.ts';
import { openReceiverClient } from './deliveries/send-attempt.ts';

export type RunningSandbox = {
  /** Both the interface's {auth_url} and its {base_url}. */
  readonly url: string;
  /** Cancels what is in progress, stops listening, and resolves when both are done. May be called twice. */
  stop(): Promise<void>;
};

/** Starts a sandbox in this process. Missing options are as in {@link defaultOptions}; port 0 takes a free port. */
export async function startSandbox(
  given: Partial<SandboxOptions> & { logger?: Logger; clock?: Clock } = {},
): Promise<RunningSandbox> {
  const {
    logger = createLogger({ name: 'sandbox', level: 'silent' }),
    clock = systemClock,
    ...chosen
  } = given;
  const options = { ...defaultOptions(), ...chosen };
  const client = openReceiverClient({
    tls: options.tls,
    connections: options.deliveryConcurrency,
    timeoutMs: options.deliveryTimeoutMs,
  });
  const components = createSandboxComponents({ options, logger, clock, client });
  const app = createSandboxApp(components);
  const stopAll = async () => {
    await components.stop();
    await app.close();
    await client.destroy();
  };
  let stopped: Promise<void> | undefined;
  const stop = () => (stopped ??= stopAll());
  try {
    await app.listen({ host: await hostToListenOn(options.host), port: options.port });
  } catch (error) {
    await stop();
    throw error;
  }
  return { url: urlOf(options.host, app.server.address() as AddressInfo), stop };
}

/** The URL to call: a server that listens on all addresses is called on a loopback address. */
function urlOf(host: string, { port }: AddressInfo): string {
  if (host === '::') return `http://localhost:${port}`;
  return `http://${host === '0.0.0.0' ? '127.0.0.1' : urlHost(host)}:${port}`;
}
