import { HooklineError } from '../../core/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Metrics } from '../../runtime/metrics.ts';
import type { Spool } from '../../spool/spool.ts';
import type { SpoolObserver } from './spooling-store.ts';

/** At the start: how rows are protected, and whether some can't be opened. */
export function reportSpool(parts: { logger: Logger; spool: Pick<Spool, 'state'>; isSealed: boolean }): void {
  const { logger, spool, isSealed } = parts;
  const { keyMissing } = spool.state;
  if (!isSealed)
    logger.warn(
      "SEALING_KEY_FILE is not set: the spool's rows are stored as they were received, with a checksum only",
    );
  if (keyMissing === 0) return;
  const mend = 'add the key to SEALING_KEY_FILE, behind the current one, and restart';
  const err = new HooklineError('SPOOL_KEY_MISSING', `${keyMissing} rows`, { mend });
  logger.error({ err, code: err.code }, 'deliveries stay in the spool');
}

/** What happens to the spool, as metrics and one log line per change. */
export function observeSpool(parts: {
  logger: Logger;
  metrics: Metrics;
  spool: Pick<Spool, 'state'>;
}): SpoolObserver {
  const { logger, metrics, spool } = parts;
  metrics.samplers.add(() => {
    const { rows, bytes, oldestAt, keyMissing } = spool.state;
    metrics.spoolKeyMissing.set(keyMissing);
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
