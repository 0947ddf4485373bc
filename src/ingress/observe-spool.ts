import type { SpoolObserver } from '../delivery/spooling-store.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Metrics } from '../runtime/metrics.ts';
import type { Spool } from '../spool/spool.ts';

/** What happens to the spool, as metrics and one log line per change. */
export function observeSpool(parts: {
  logger: Logger;
  metrics: Metrics;
  spool: Pick<Spool, 'state'>;
}): SpoolObserver {
  const { logger, metrics, spool } = parts;
  metrics.samplers.add(() => {
    const { rows, bytes, oldestAt } = spool.state;
    metrics.spoolDeliveries.set(rows);
    metrics.spoolBytes.set(bytes);
    metrics.spoolOldest.set(oldestAt === null ? 0 : Math.max(0, (Date.now() - oldestAt) / 1_000));
  });
  let saidFailure = '';
  return {
    diverted(why) {
      metrics.spoolInUse.set(1);
      saidFailure = '';
      logger.warn({ why }, 'the spool is in use');
    },
    drained(deliveries, seconds) {
      metrics.spoolInUse.set(0);
      metrics.spoolDrained.inc(deliveries);
      logger.info({ deliveries, seconds: Number(seconds.toFixed(3)) }, 'the spool is drained');
    },
    drainFailed(error) {
      const { message } = error as Error;
      if (message === saidFailure) return;
      saidFailure = message;
      logger.warn({ err: error }, 'the spool is not drained, tried again');
    },
  };
}
