import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Metrics } from '../../runtime/metrics.ts';
import type { Spool } from '../../spool/spool.ts';
import { LATE_AFTER_MS } from '../../spool/spool-row.ts';
import type { DrainObserver } from './drain-row.ts';

export type SpoolObserver = DrainObserver & {
  /** The spool is in use from now on, and why. */
  spooling(why: string): void;
  /** From now on only events that wait for the object store go to the spool, and why. */
  holding(why: string): void;
  /** It is empty, and Kafka is used again; what was in it since the last change. */
  drained(deliveries: number, seconds: number): void;
};

const COUNT_LATE_EVERY_MS = 15_000;

/** What happens to the spool, as metrics and one log line per change. */
export function observeSpool(deps: {
  logger: Logger;
  metrics: Metrics;
  spool: Pick<Spool, 'state' | 'countLate'>;
  clock: Clock;
}): SpoolObserver & { stop(): void } {
  const { logger, metrics, spool, clock } = deps;
  const own = spoolMetrics(metrics);
  let lateSeen = 0;
  const countLate = () => {
    // A failure is the spool's own trouble, and the next count has what this one missed.
    if (spool.state.rows > 0) spool.countLate(clock.wall() - LATE_AFTER_MS).catch(() => {});
  };
  const counting = clock.every(COUNT_LATE_EVERY_MS, countLate, { ref: false });
  metrics.samplers.add(() => {
    const { rows, bytes, oldestAt, keyMissing, late } = spool.state;
    own.spoolLate.inc(late - lateSeen);
    lateSeen = late;
    own.spoolKeyMissing.set(keyMissing);
    own.spoolDeliveries.set(rows);
    own.spoolBytes.set(bytes);
    own.spoolOldest.set(oldestAt === null ? 0 : Math.max(0, (clock.wall() - oldestAt) / 1_000));
  });
  let saidFailure = '';
  return {
    stop: () => counting.cancel(),
    spooling(why) {
      own.spoolInUse.set(1);
      saidFailure = '';
      logger.warn({ why }, 'the spool is in use');
    },
    holding(why) {
      own.spoolInUse.set(0);
      own.spoolHolding.set(1);
      saidFailure = '';
      logger.warn(
        { why },
        'events that need the object store, and later ones of their keys, wait in the spool',
      );
    },
    rowsDrained: (rows) => own.spoolDrained.inc(rows),
    drained(deliveries, seconds) {
      own.spoolInUse.set(0);
      own.spoolHolding.set(0);
      logger.info({ deliveries, seconds: Number(seconds.toFixed(3)) }, 'the spool is drained');
    },
    drainFailed(error) {
      const { message } = error as Error;
      if (message === saidFailure) return;
      saidFailure = message;
      logger.warn({ err: error }, 'the spool is not drained, tried again');
    },
    drainBroken(error) {
      logger.error({ err: error }, 'the spool is not drained: an error of Hookline itself; it begins again');
    },
  };
}

/** The spool. */
export const spoolMetrics = (metrics: Metrics) => ({
  spoolInUse: metrics.gauge({
    name: 'hookline_spool_in_use',
    help: '1 while new events go to the spool, else 0',
  }),
  spoolHolding: metrics.gauge({
    name: 'hookline_spool_holding',
    help: '1 while only events that wait for the object store, and later ones of their keys, go to the spool, else 0',
  }),
  spoolDeliveries: metrics.gauge({
    name: 'hookline_spool_deliveries',
    help: 'Deliveries in the spool',
  }),
  spoolBytes: metrics.gauge({
    name: 'hookline_spool_bytes',
    help: 'Bytes of the spool that are in use',
  }),
  spoolKeyMissing: metrics.gauge({
    name: 'hookline_spool_key_missing',
    help: 'Deliveries in the spool that no key of SEALING_KEY_FILE opens',
  }),
  spoolMaxBytes: metrics.gauge({
    name: 'hookline_spool_max_bytes',
    help: 'SPOOL_MAX_BYTES; 0 without a spool',
  }),
  spoolOldest: metrics.gauge({
    name: 'hookline_spool_oldest_seconds',
    help: 'Age of the oldest delivery in the spool; 0 where it is empty',
  }),
  spoolDrained: metrics.counter({
    name: 'hookline_spool_drained_total',
    help: 'Deliveries that went from the spool to Kafka',
  }),
  spoolLate: metrics.counter({
    name: 'hookline_spool_late_total',
    help: 'Acknowledged deliveries that were still in the spool, and not in Kafka, a minute after their receipt; counted every 15 s',
  }),
});
