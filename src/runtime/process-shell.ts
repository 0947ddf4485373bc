import closeWithGrace from 'close-with-grace';
import { CONFIG_EXIT_CODE, ConfigError } from '../core/env.ts';
import { hasCode } from '../core/errors.ts';
import type { Logger } from './logger.ts';
import { routeWarnings } from './route-warnings.ts';

/** Something that runs. `stop` may be called twice and resolves when nothing of it is left. */
export type Part = { stop(): Promise<void> };

export type Parts = {
  /** Registers a started part. Parts are stopped in the reverse order. */
  add<P extends Part>(name: string, part: P): P;
  /** Aborted at the first signal, so that a start which still waits gives up. */
  readonly stopping: AbortSignal;
  /** Ends the process, exit code 1: for what only a new process can mend. Parts are stopped all the same. */
  readonly fail: (error: unknown) => void;
  stopAll(): Promise<void>;
};

export function createParts(log: (name: string, error?: unknown) => void): Parts {
  const started: { name: string; part: Part }[] = [];
  const controller = new AbortController();
  let stopped: Promise<void> | undefined;
  const stopEach = async () => {
    controller.abort();
    for (let one = started.pop(); one !== undefined; one = started.pop()) {
      await one.part.stop().then(
        () => log(one.name),
        (error) => log(one.name, error),
      );
    }
  };
  return {
    stopping: controller.signal,
    add(name, part) {
      started.push({ name, part });
      return part;
    },
    // Thrown where nobody catches it, it takes the same way as any error that nobody handled.
    fail: (error) =>
      void setImmediate(() => {
        throw error;
      }),
    stopAll: () => (stopped ??= stopEach()),
  };
}

/**
 * Runs a process: starts its parts in order, stops them in reverse at the first signal, exits at once at the second.
 * Exit codes: 0 after a signal, 78 for a faulty configuration (every fault on standard error), 1 for anything else.
 */
export async function runProcess(options: {
  logger: Logger;
  stopDeadlineMs: number;
  start: (parts: Parts) => Promise<void>;
}): Promise<void> {
  const { logger } = options;
  const parts = createParts((part, err) =>
    err ? logger.error({ part, err }, 'part did not stop well') : logger.info({ part }, 'stopped'),
  );
  routeWarnings((warning) => logger.warn({ err: warning }, 'Node warns'));
  closeWithGrace({ delay: options.stopDeadlineMs, logger: false }, async ({ signal, err }) => {
    if (err) logger.fatal({ err }, 'stopping after an error that nobody handled');
    else logger.info({ signal }, 'stopping');
    await parts.stopAll();
  });
  try {
    await options.start(parts);
  } catch (err) {
    if (parts.stopping.aborted) return;
    logger.fatal({ err }, 'start failed');
    await parts.stopAll();
    process.exit(exitCodeOf(err));
  }
}

/** Failures that only another configuration mends. */
const exitCodeOf = (error: unknown) =>
  error instanceof ConfigError || hasCode(error, 'SCHEMA_INVALID', 'SEALING_KEY_INVALID')
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
