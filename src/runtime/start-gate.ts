import type { Logger } from './logger.ts';
import type { Probes } from './probes.ts';
import { retry, STARTUP_BACKOFF } from './retry.ts';

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

export function createStartGate(parts: { logger: Logger; probes: Probes; stopping: AbortSignal }): StartGate {
  const { logger, probes, stopping } = parts;
  let reason: string | null = 'starting';
  const takeBack = probes.readyWhen('start', () => reason);
  return {
    async pass(what, attempt, isFinal = () => false) {
      reason = `waiting for ${what}`;
      let said = '';
      const onFailure = (error: unknown) => {
        const { message } = error as Error;
        reason = `waiting for ${what}: ${message}`;
        if (said !== message) logger.warn({ err: error }, reason);
        said = message;
      };
      const again = (error: unknown) => !isFinal(error);
      const result = await retry(attempt, { backoff: STARTUP_BACKOFF, signal: stopping, again, onFailure });
      if (said !== '') logger.info(`no longer ${reason.split(':')[0]}`);
      return result;
    },
    open() {
      reason = null;
      takeBack();
    },
  };
}
