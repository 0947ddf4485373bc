import { HooklineError } from '../core/errors.ts';
import type { Logger } from './logger.ts';
import type { Probes } from './probes.ts';
import { type Backoff, retry, STARTUP_BACKOFF } from './retry.ts';

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
