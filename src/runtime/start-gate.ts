import { textWithCode } from '../core/errors.ts';
import { createProbes, type Probes } from './admin-server.ts';
import type { Components } from './components.ts';
import type { Logger } from './logger.ts';
import { type Backoff, retry, STARTUP_BACKOFF } from './retry.ts';

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

/** A gate that readiness does not wait for. */
export const backgroundGate = ({
  logger,
  components,
}: {
  readonly logger: Logger;
  readonly components: Components;
}): StartGate => createStartGate({ logger, probes: createProbes(), stopping: components.stopping });
