import closeWithGrace from 'close-with-grace';
import { CONFIG_EXIT_CODE, ConfigError, type Settings } from '../config/env.ts';
import { describeMisspelt, misspelt } from '../config/misspelt.ts';
import { type Route, routesOf } from '../config/proxy.ts';
import { hasCode } from '../core/errors.ts';
import { createProbes, observeProcess, type Probes, startAdminServer } from './admin-server.ts';
import type { Clock } from './clock.ts';
import { type Components, createComponents } from './components.ts';
import type { Logger } from './logger.ts';
import { createMetrics, type Metrics } from './metrics.ts';
import { createStartGate, type StartGate } from './start-gate.ts';

/**
 * Runs a process: starts its components in order, stops them in reverse at the first signal, exits at once at the second.
 * Exit codes: 0 after a signal, 78 for a faulty configuration (every fault on standard error), 1 for anything else,
 * such as components that have not stopped after `stopDeadlineMs`: they are named.
 */
export async function runProcess(options: {
  logger: Logger;
  /** Every group of settings that it reads, what was read, and from where. */
  groups: Readonly<Record<string, Settings>>;
  config: Parameters<typeof routesOf>[1];
  env: Readonly<Record<string, string | undefined>>;
  stopDeadlineMs: number;
  start: (components: Components) => Promise<void>;
}): Promise<void> {
  const { logger, groups, config, env, stopDeadlineMs } = options;
  const components = createComponents({
    stopped: (component, err) =>
      err
        ? logger.error({ component, err }, 'component failed to stop')
        : logger.info({ component }, 'stopped'),
    failedAgain: (err) => logger.error({ err }, 'another failure, the process is ending already'),
  });
  const onTimeout = () =>
    logger.error({ waitingFor: components.remaining(), stopDeadlineMs }, 'not stopped before the deadline');
  for (const one of misspelt(groups, env)) logger.warn({ variable: one.variable }, describeMisspelt(one));
  tellRoutes(logger, routesOf(groups, config));
  routeWarnings((warning) => logger.warn({ err: warning }, 'Node.js warning'));
  closeWithGrace({ delay: stopDeadlineMs, logger: false, onTimeout }, async ({ signal, err }) => {
    if (err) logger.fatal({ err }, 'stopping after an unhandled error');
    else logger.info({ signal }, 'stopping');
    await components.stopAll();
  });
  try {
    await options.start(components);
  } catch (err) {
    if (components.stopping.aborted) return;
    logger.fatal({ err }, startFailure(err));
    // What a failed start leaves behind may hang: a process that neither runs nor ends must not stay.
    const deadline = setTimeout(() => {
      onTimeout();
      process.exit(exitCodeOf(err));
    }, stopDeadlineMs);
    await components.stopAll();
    clearTimeout(deadline);
    process.exit(exitCodeOf(err));
  }
}

function tellRoutes(logger: Logger, routes: readonly Route[]): void {
  const through = routes.filter(({ proxy }) => proxy);
  const [one] = through;
  if (!one) return;
  const variables = (some: readonly Route[]) => some.map(({ variable }) => variable);
  const direct = variables(routes.filter(({ proxy }) => !proxy));
  logger.info(
    { proxy: one.proxy?.origin, through: variables(through), direct },
    'requests to https addresses go through the proxy of HTTPS_PROXY',
  );
}

/** What an error of a listening socket has. */
type Listening = { readonly address?: string; readonly hostname?: string; readonly port?: number };

const PORTS = 'ADMIN_PORT, INGRESS_PORT, CONSOLE_PORT or SANDBOX_PORT';
const HOSTS = 'ADMIN_HOST, INGRESS_HOST, CONSOLE_HOST or SANDBOX_HOST';

/** What the operator can do something about is said in the line itself. */
function startFailure(error: unknown): string {
  const { code, syscall, address, hostname, port } = Object(error) as NodeJS.ErrnoException & Listening;
  if (syscall === 'listen' && code === 'EACCES')
    return `start failed: this user may not listen on port ${port} of ${address}: give a port from 1024 (${PORTS})`;
  if (syscall === 'listen' && code === 'EADDRNOTAVAIL')
    return `start failed: ${address} is no address of this machine: correct the variable that has it (${HOSTS})`;
  if (syscall === 'getaddrinfo')
    return `start failed: the host name ${hostname} is unknown: correct the variable that has it (${HOSTS}), or the name service`;
  if (code !== 'EADDRINUSE') return 'start failed';
  return `start failed: port ${port} of ${address} is in use by another process: stop that, or set the variable that has this port (${PORTS}) to another one`;
}

/** Failures that only another configuration ends. */
const exitCodeOf = (error: unknown) =>
  error instanceof ConfigError ||
  hasCode(error, 'SCHEMA_INVALID', 'SEALING_KEY_INVALID', 'CREDENTIALS_INVALID')
    ? CONFIG_EXIT_CODE
    : 1;

/** Reads what the operator gave, or prints every fault without a stack trace and exits with 78. */
export function configOrExit<T>(load: () => T): T {
  try {
    return load();
  } catch (error) {
    if (exitCodeOf(error) !== CONFIG_EXIT_CODE) throw error;
    process.stderr.write(`${(error as Error).message}\n`);
    process.exit(CONFIG_EXIT_CODE);
  }
}

/** Hands Node's warnings to `onWarning` instead of printing them. */
export function routeWarnings(onWarning: (warning: Error) => void): void {
  process.removeAllListeners('warning');
  process.on('warning', onWarning);
}

/** What the components of a process share. */
export type ProcessContext = {
  readonly logger: Logger;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly probes: Probes;
  readonly components: Components;
  readonly gate: StartGate;
};

/** Starts what comes before everything else: the admin server, and the metrics of the process itself. */
export async function openContext(
  given: Pick<ProcessContext, 'logger' | 'clock' | 'components'>,
  { adminHost: host, adminPort: port }: { readonly adminHost: string; readonly adminPort: number },
): Promise<ProcessContext> {
  const { logger, components } = given;
  const metrics = createMetrics();
  const probes = createProbes();
  components.add('process', observeProcess({ metrics, probes }));
  const admin = components.add('admin', await startAdminServer({ host, port, probes, metrics }));
  logger.info({ port: admin.port }, 'admin listening');
  const gate = createStartGate({ logger, probes, stopping: components.stopping });
  return { ...given, metrics, probes, gate };
}
