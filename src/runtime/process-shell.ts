import closeWithGrace from 'close-with-grace';
import { CONFIG_EXIT_CODE, ConfigError } from '../config/env.ts';
import { describeMisspelt, type Misspelt } from '../config/misspelt.ts';
import { hasCode, textWithCode } from '../core/errors.ts';
import { createProbes, observeProcess, type Probes, startAdminServer } from './admin-server.ts';
import type { Clock } from './clock.ts';
import type { Logger } from './logger.ts';
import { createMetrics, type Metrics } from './metrics.ts';
import { type Backoff, retry, STARTUP_BACKOFF } from './retry.ts';

/** A part of a process that runs. `stop` may be called twice and resolves when nothing of it is left. */
export type Component = { stop(): Promise<void> };

export type Components = {
  /** Registers a started component. They are stopped in reverse order; one that comes too late is stopped at once. */
  add<C extends Component>(name: string, component: C): C;
  /** Aborted at the first signal, so that a start that still waits ends. */
  readonly stopping: AbortSignal;
  /** Ends the process, exit code 1: for what only a new process can recover from. Components are stopped all the same. */
  readonly fail: (error: unknown) => void;
  /** Names of the components that have not stopped yet. */
  remaining(): readonly string[];
  stopAll(): Promise<void>;
};

export function createComponents(on: {
  stopped(name: string, error?: unknown): void;
  /** A failure when the process is ending anyway. */
  failedAgain(error: unknown): void;
}): Components {
  const started: { name: string; component: Component }[] = [];
  const controller = new AbortController();
  let stopped: Promise<void> | undefined;
  let hasFailed = false;
  const stopEach = async () => {
    controller.abort();
    for (let one = started.at(-1); one !== undefined; one = started.at(-1)) {
      const { name, component } = one;
      // Called within the chain: a stop that throws at once must not keep the others from theirs.
      await Promise.resolve()
        .then(() => component.stop())
        .then(
          () => on.stopped(name),
          (error) => on.stopped(name, error),
        );
      started.splice(started.indexOf(one), 1);
    }
  };
  return {
    stopping: controller.signal,
    add(name, component) {
      started.push({ name, component });
      // The start went on while everything was being stopped: what it has opened since is closed as well.
      if (stopped) stopped = stopped.then(stopEach);
      return component;
    },
    // Thrown where nobody catches it, it ends the process like any unhandled error. Once only, and not while stopping: a
    // second error would end the process with work in flight.
    fail(error) {
      if (hasFailed || controller.signal.aborted) return on.failedAgain(error);
      hasFailed = true;
      setImmediate(() => {
        throw error;
      });
    },
    remaining: () => started.map(({ name }) => name),
    stopAll: () => (stopped ??= stopEach()),
  };
}

/**
 * Runs a process: starts its components in order, stops them in reverse at the first signal, exits at once at the second.
 * Exit codes: 0 after a signal, 78 for a faulty configuration (every fault on standard error), 1 for anything else,
 * such as components that have not stopped after `stopDeadlineMs`: they are named.
 */
export async function runProcess(options: {
  logger: Logger;
  /** Variables of its environment that nothing reads although they look like settings. */
  misspelt: readonly Misspelt[];
  stopDeadlineMs: number;
  start: (components: Components) => Promise<void>;
}): Promise<void> {
  const { logger, misspelt, stopDeadlineMs } = options;
  const components = createComponents({
    stopped: (component, err) =>
      err
        ? logger.error({ component, err }, 'component failed to stop')
        : logger.info({ component }, 'stopped'),
    failedAgain: (err) => logger.error({ err }, 'another failure, the process is ending already'),
  });
  const onTimeout = () =>
    logger.error({ waitingFor: components.remaining(), stopDeadlineMs }, 'not stopped before the deadline');
  for (const one of misspelt) logger.warn({ variable: one.variable }, describeMisspelt(one));
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

/** A gate that readiness does not wait for. */
export const backgroundGate = ({ logger, components }: Pick<ProcessContext, 'logger' | 'components'>) =>
  createStartGate({ logger, probes: createProbes(), stopping: components.stopping });

const STARTING = 'starting';

/**
 * Waits for what a process needs before it can start: a registry that answers, topics that exist. It tries again
 * instead of exiting, readiness says what it waits for, and each new reason is logged once.
 */
export type StartGate = {
  /** @param isFinal errors that waiting does not end: they end the start */
  pass<T>(what: string, attempt: () => Promise<T>, isFinal?: (error: unknown) => boolean): Promise<T>;
  /** Everything is there: the process is ready as far as the start is concerned. */
  open(): void;
};

export function createStartGate(deps: {
  logger: Logger;
  probes: Probes;
  stopping: AbortSignal;
  backoff?: Backoff;
}): StartGate {
  const { logger, probes, stopping, backoff = STARTUP_BACKOFF } = deps;
  let reason: string | null = STARTING;
  const takeBack = probes.readyWhen('start', () => reason);
  // At once, not when the last request is answered: load balancers need time to send traffic elsewhere.
  probes.readyWhen('stop', () => (stopping.aborted ? 'stopping' : null));
  return {
    async pass(what, attempt, isFinal = () => false) {
      const waiting = `waiting for ${what}`;
      reason = waiting;
      // All that were logged, not only the last one: brokers that are unavailable fail in turn, each with its address.
      const logged = new Set<string>();
      const onFailure = (error: unknown) => {
        const message = textWithCode(error);
        reason = `${waiting}: ${message}`;
        if (!logged.has(message)) logger.warn({ err: error }, reason);
        logged.add(message);
      };
      const again = (error: unknown) => !isFinal(error);
      const result = await retry(attempt, { backoff, signal: stopping, again, onFailure });
      if (logged.size > 0) logger.info(`no longer ${waiting}`);
      reason = STARTING;
      return result;
    },
    open() {
      reason = null;
      takeBack();
    },
  };
}
