import closeWithGrace from 'close-with-grace';
import { CONFIG_EXIT_CODE, ConfigError } from '../config/env.ts';
import { HooklineError, hasCode } from '../core/errors.ts';
import type { Probes } from './admin-server.ts';
import type { Logger } from './logger.ts';
import type { Metrics } from './metrics.ts';
import { type Backoff, retry, STARTUP_BACKOFF } from './retry.ts';

/** Something that runs. `stop` may be called twice and resolves when nothing of it is left. */
export type Part = { stop(): Promise<void> };

export type Parts = {
  /** Registers a started part. Parts are stopped in the reverse order; one that comes too late is stopped at once. */
  add<P extends Part>(name: string, part: P): P;
  /** Aborted at the first signal, so that a start which still waits gives up. */
  readonly stopping: AbortSignal;
  /** Ends the process, exit code 1: for what only a new process can mend. Parts are stopped all the same. */
  readonly fail: (error: unknown) => void;
  /** Names of the parts that have not stopped yet. */
  remaining(): readonly string[];
  stopAll(): Promise<void>;
};

export function createParts(on: {
  stopped(name: string, error?: unknown): void;
  /** A failure when the process is ending anyway. */
  failedAgain(error: unknown): void;
}): Parts {
  const started: { name: string; part: Part }[] = [];
  const controller = new AbortController();
  let stopped: Promise<void> | undefined;
  let hasFailed = false;
  const stopEach = async () => {
    controller.abort();
    for (let one = started.at(-1); one !== undefined; one = started.at(-1)) {
      const { name, part } = one;
      // Called within the chain: a stop that throws at once must not keep the others from theirs.
      await Promise.resolve()
        .then(() => part.stop())
        .then(
          () => on.stopped(name),
          (error) => on.stopped(name, error),
        );
      started.splice(started.indexOf(one), 1);
    }
  };
  return {
    stopping: controller.signal,
    add(name, part) {
      started.push({ name, part });
      // The start went on while everything was being stopped: what it has opened since is closed as well.
      if (stopped) stopped = stopped.then(stopEach);
      return part;
    },
    // Thrown where nobody catches it, it takes the same way as any error that nobody handled. Once only, and not
    // while stopping: a second error would end the process with work in flight.
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
 * Runs a process: starts its parts in order, stops them in reverse at the first signal, exits at once at the second.
 * Exit codes: 0 after a signal, 78 for a faulty configuration (every fault on standard error), 1 for anything else,
 * such as parts that have not stopped after `stopDeadlineMs`: they are named.
 */
export async function runProcess(options: {
  logger: Logger;
  stopDeadlineMs: number;
  start: (parts: Parts) => Promise<void>;
}): Promise<void> {
  const { logger, stopDeadlineMs } = options;
  const parts = createParts({
    stopped: (part, err) =>
      err ? logger.error({ part, err }, 'part did not stop well') : logger.info({ part }, 'stopped'),
    failedAgain: (err) => logger.error({ err }, 'another failure, the process is ending already'),
  });
  const onTimeout = () =>
    logger.error({ waitingFor: parts.remaining(), stopDeadlineMs }, 'not stopped before the deadline');
  routeWarnings((warning) => logger.warn({ err: warning }, 'Node warns'));
  closeWithGrace({ delay: stopDeadlineMs, logger: false, onTimeout }, async ({ signal, err }) => {
    if (err) logger.fatal({ err }, 'stopping after an error that nobody handled');
    else logger.info({ signal }, 'stopping');
    await parts.stopAll();
  });
  try {
    await options.start(parts);
  } catch (err) {
    if (parts.stopping.aborted) return;
    logger.fatal({ err }, 'start failed');
    // What a failed start leaves may hang as much as anything else: a process that neither runs nor ends helps nobody.
    const deadline = setTimeout(() => {
      onTimeout();
      process.exit(exitCodeOf(err));
    }, stopDeadlineMs);
    await parts.stopAll();
    clearTimeout(deadline);
    process.exit(exitCodeOf(err));
  }
}

/** Failures that only another configuration mends. */
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

const STARTING = 'starting';

/**
 * Waits for what a process needs before it can start: a registry that answers, topics that exist. It tries again
 * instead of exiting, readiness says what it waits for, and each new reason is logged once.
 */
export type StartGate = {
  /** @param isFinal errors that waiting can't mend: they end the start */
  pass<T>(what: string, attempt: () => Promise<T>, isFinal?: (error: unknown) => boolean): Promise<T>;
  /** Everything is there: the process is ready as far as the start is concerned. */
  open(): void;
};

export function createStartGate(parts: {
  logger: Logger;
  probes: Probes;
  stopping: AbortSignal;
  backoff?: Backoff;
}): StartGate {
  const { logger, probes, stopping, backoff = STARTUP_BACKOFF } = parts;
  let reason: string | null = STARTING;
  const takeBack = probes.readyWhen('start', () => reason);
  // At once, not when the last request is answered: whoever sends traffic here needs time to turn elsewhere.
  probes.readyWhen('stop', () => (stopping.aborted ? 'stopping' : null));
  return {
    async pass(what, attempt, isFinal = () => false) {
      const waiting = `waiting for ${what}`;
      reason = waiting;
      // All that were said, not only the last one: brokers that are away fail in turn, each with its address.
      const said = new Set<string>();
      const onFailure = (error: unknown) => {
        const message = inWords(error);
        reason = `${waiting}: ${message}`;
        if (!said.has(message)) logger.warn({ err: error }, reason);
        said.add(message);
      };
      const again = (error: unknown) => !isFinal(error);
      const result = await retry(attempt, { backoff, signal: stopping, again, onFailure });
      if (said.size > 0) logger.info(`no longer ${waiting}`);
      reason = STARTING;
      return result;
    },
    open() {
      reason = null;
      takeBack();
    },
  };
}

/** An error that has a row in the table begins with its code: runbooks go by it. */
function inWords(error: unknown): string {
  if (error instanceof HooklineError) return `${error.code}: ${error.message}`;
  return error instanceof Error ? error.message : String(error);
}

/** Often enough to find a hold-up of a few hundredths of a second, and 20 wake-ups a second cost nothing. */
const TICK_MS = 50;

/** What every process tells of itself: whether it is ready, and how long its event loop was held up. */
export function observeProcess({ metrics, probes }: { metrics: Metrics; probes: Probes }): Part {
  let longestMs = 0;
  let lastTick = performance.now();
  const note = () => {
    const now = performance.now();
    longestMs = Math.max(longestMs, now - lastTick - TICK_MS);
    lastTick = now;
  };
  // Node's own histogram of the loop's delay misses single long hold-ups.
  const timer = setInterval(note, TICK_MS);
  timer.unref();
  metrics.samplers.add(() => {
    metrics.ready.set(probes.readiness().ok ? 1 : 0);
    // The scrape may come before the tick that was held up along with it.
    if (performance.now() - lastTick > TICK_MS) note();
    metrics.loopDelay.set(longestMs / 1_000);
    longestMs = 0;
  });
  return { stop: async () => clearInterval(timer) };
}
