import closeWithGrace from 'close-with-grace';
import { CONFIG_EXIT_CODE, ConfigError } from '../config/env.ts';
import { hasCode } from '../core/errors.ts';
import type { Logger } from './logger.ts';

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
