import { type Backoff, retry } from '../../runtime/retry.ts';
import type { DrainPorts } from './drain-row.ts';
import { drainSpool } from './drain-spool.ts';

/** 5, 10, 20 … s: each time what was stored and is still in the spool comes once more. */
const AGAIN: Backoff = { firstMs: 5_000, factor: 2, maxMs: 300_000 };

/**
 * Drains the spool until it is empty or the process stops. After an error that no part of the drain has foreseen it begins again
 * with the oldest row: nobody else would empty the spool before a restart.
 * @returns how many deliveries were drained
 * @throws the reason of the stop
 */
export async function keepDraining(ports: DrainPorts): Promise<number> {
  const { stopping: signal, clock, observer } = ports;
  let drained = 0;
  const onDrained = (rows: number) => {
    drained += rows;
  };
  await retry(() => drainSpool({ ...ports, onDrained }), {
    ...{ backoff: AGAIN, signal, clock, again: () => true },
    onFailure: (error) => observer.drainBroken?.(error),
  });
  return drained;
}
