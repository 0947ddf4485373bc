import { type Backoff, delayBefore } from '../../runtime/retry.ts';
import type { DrainPorts } from './drain-row.ts';
import { drainSpool } from './drain-spool.ts';

/** 5, 10, 20 … s between drains that store nothing: each time what was stored and is still in the spool comes once more. */
const AGAIN: Backoff = { firstMs: 5_000, factor: 2, maxMs: 300_000 };

/**
 * Drains the spool until it is empty or the process stops. After an error that no part of the drain has foreseen it begins again
 * with the oldest row: nobody else would empty the spool before a restart. Not before the rows in progress have ended, though a topic
 * may hold them for long: two drains do not know of each other's rows, and would change their order.
 * @returns how many deliveries were drained
 * @throws the reason of the stop
 */
export async function keepDraining(ports: DrainPorts): Promise<number> {
  const { stopping: signal, clock, spool } = ports;
  let drained = 0;
  const onDrained = (rows: number) => {
    drained += rows;
    ports.observer.rowsDrained?.(rows);
  };
  for (let failures = 0; ; ) {
    const before = drained;
    try {
      await drainSpool({ ...ports, onDrained });
      return drained;
    } catch {
      signal.throwIfAborted();
      if (spool.outstanding === 0) return drained;
      failures = drained > before ? 1 : failures + 1;
      await clock.sleep(delayBefore(failures, AGAIN, clock.random), { signal });
    }
  }
}
