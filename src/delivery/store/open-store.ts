import type { ValuesOf } from '../../config/env.ts';
import type { spoolSettings } from '../../config/shared-settings.ts';
import { isLarge, type LargeBodyPublisher } from '../../core/delivery.ts';
import { HooklineError } from '../../core/errors.ts';
import type { OutgoingRecord } from '../../core/record.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Metrics } from '../../runtime/metrics.ts';
import type { ProcessContext } from '../../runtime/process-shell.ts';
import { type LiveSealingKeys, sealingKeysNow } from '../../runtime/sealing-key-file.ts';
import { Spool } from '../../spool/spool.ts';
import type { AcceptPorts } from '../accept-delivery.ts';
import { objectFirst } from '../claim-check.ts';
import type { DeliveryPorts, StorePublisher } from '../ports.ts';
import { publishDelivery } from '../publish-delivery.ts';
import { SpoolingStore, type SpoolObserver } from './spooling-store.ts';

/** Longest time that an event waits for the brokers. With a spool that is all that a slow Kafka costs its sender. */
const PUBLISH_DEADLINE_MS = { alone: 15_000, spooling: 2_000 };

/** Where verified deliveries are stored. */
export type DeliveryStore = {
  readonly store: AcceptPorts['store'];
  /** Why nothing can be stored durably now, or null. */
  trouble(): string | null;
  stop(): Promise<void>;
};

export type StoreDeps = {
  readonly delivery: Omit<DeliveryPorts, 'publish'>;
  readonly publisher: StorePublisher;
  /** PUBLISH_DEADLINE_MS, where it is set. */
  readonly publishDeadlineMs: number | undefined;
  /** Takes the large ones. */
  readonly large: LargeBodyPublisher;
  readonly clock: Clock;
};

/** Kafka, and where there is a spool that one while Kafka is unavailable. */
export function openStore(
  deps: Omit<StoreDeps, 'clock'>,
  spool: Spool | undefined,
  { logger, metrics, clock, probes, components }: ProcessContext,
): DeliveryStore {
  const store = components.add(
    'store',
    spool ? storeWithSpool({ ...deps, clock, spool, logger, metrics }) : storeInKafka({ ...deps, clock }),
  );
  probes.readyWhen(spool ? 'storage' : 'kafka', () => store.trouble());
  return store;
}

/** Kafka alone: while it is unavailable nothing can be stored. */
function storeInKafka({ delivery, publisher, publishDeadlineMs, large }: StoreDeps): DeliveryStore {
  const deadlineMs = publishDeadlineMs ?? PUBLISH_DEADLINE_MS.alone;
  const send = (record: OutgoingRecord) => publisher.publish(record, deadlineMs);
  const parts: DeliveryPorts = { ...delivery, publish: objectFirst(delivery.claims, send) };
  return {
    store: (verified) =>
      isLarge(verified) ? large.store(verified, () => deadlineMs) : publishDelivery(verified, parts),
    trouble: () => publisher.trouble(),
    stop: async () => {},
  };
}

/** Kafka, and while it is unavailable the spool. */
function storeWithSpool(
  parts: StoreDeps & { readonly spool: Spool; readonly logger: Logger; readonly metrics: Metrics },
): DeliveryStore {
  const { delivery, publisher, large, clock, spool, logger, metrics } = parts;
  const observer = observeSpool({ logger, metrics, spool, clock });
  const store = new SpoolingStore({
    delivery,
    publisher,
    large,
    ...{ spool, clock, observer },
    publishDeadlineMs: parts.publishDeadlineMs ?? PUBLISH_DEADLINE_MS.spooling,
  });
  spool.onKeysRenewed = () => store.wake();
  return {
    store: (verified) => store.store(verified),
    trouble() {
      // While it is in use everything goes behind what is in it, also when Kafka is available again.
      const unavailable = store.isSpooling ? 'in use' : publisher.trouble();
      return unavailable !== null && spool.trouble !== null
        ? `Kafka: ${unavailable}; spool: ${spool.trouble}`
        : null;
    },
    stop() {
      observer.stop();
      return store.stop();
    },
  };
}

/**
 * The spool of SPOOL_DIR; undefined where that is unset.
 * @throws HooklineError SPOOL_IN_USE, SPOOL_INVALID, SPOOL_FAILING
 */
export async function openSpool(
  { dir, maxBytes }: ValuesOf<typeof spoolSettings>,
  sealingKeys: LiveSealingKeys | undefined,
  { logger, metrics, clock, components }: ProcessContext,
): Promise<Spool | undefined> {
  spoolMetrics(metrics).spoolMaxBytes.set(dir === undefined ? 0 : maxBytes);
  if (dir === undefined) return undefined;
  const keys = sealingKeys && sealingKeysNow(sealingKeys);
  const spool = await Spool.open({ dir, maxBytes, sealingKeys: keys, clock, onDeath: components.fail });
  sealingKeys?.onRenewed(async (renewed) => {
    const { keyMissing } = spool.state;
    try {
      await spool.renewKeys(renewed);
      if (spool.state.keyMissing !== keyMissing) reportMissingKeys(logger, spool);
    } catch {
      // A failure is the spool's own trouble: it shows there, and is tried again.
    }
  });
  components.add('spool', { stop: () => spool.close() });
  if (!sealingKeys)
    logger.warn(
      "SEALING_KEY_FILE is not set: the spool's rows are stored as they were received, with a checksum only",
    );
  reportMissingKeys(logger, spool);
  return spool;
}

function reportMissingKeys(logger: Logger, spool: Pick<Spool, 'state'>): void {
  const { keyMissing } = spool.state;
  if (keyMissing === 0) return;
  const remedy = 'add the key to SEALING_KEY_FILE, behind the current one';
  const err = new HooklineError('SPOOL_KEY_MISSING', `${keyMissing} rows`, { remedy });
  logger.error({ err, code: err.code }, 'deliveries stay in the spool');
}

/** An acknowledged event that is not in Kafka after this time is late: the objective in deploy/helm/hookline/files/alerts.yaml says so. */
const LATE_AFTER_MS = 60_000;
const COUNT_LATE_EVERY_MS = 15_000;

/** What happens to the spool, as metrics and one log line per change. */
function observeSpool(parts: {
  logger: Logger;
  metrics: Metrics;
  spool: Pick<Spool, 'state' | 'countLate'>;
  clock: Clock;
}): SpoolObserver & { stop(): void } {
  const { logger, metrics, spool, clock } = parts;
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
    drained(deliveries, seconds) {
      own.spoolInUse.set(0);
      own.spoolHolding.set(0);
      own.spoolDrained.inc(deliveries);
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
