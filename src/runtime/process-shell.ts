import closeWithGrace from 'close-with-grace';
import { CONFIG_EXIT_CODE, ConfigError } from '../core/env.ts';
import { HooklineError } from '../core/errors.ts';
import type { Logger } from './logger.ts';

/** Something that runs. `stop` may be called twice and resolves when nothing of it is left. */
export type Part = { stop(): Promise<void> };

export type Parts = {
  /** Registers a started part. Parts are stopped in the reverse order. */
  add<P extends Part>(name: string, part: P): P;
  /** Aborted at the first signal, so that a start which still waits gives up. */
  readonly stopping: AbortSignal;
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

const exitCodeOf = (error: unknown) =>
  error instanceof ConfigError || (error instanceof HooklineError && error.code === 'SCHEMA_INVALID')
    ? CONFIG_EXIT_CODE
    : 1;

/** Reads the configuration, or prints every fault without a stack trace and exits with 78. */
export function configOrExit<T>(load: () => T): T {
  try {
    return load();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(CONFIG_EXIT_CODE);
  }
}
