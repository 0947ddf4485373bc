import type { ValuesOf } from '../../config/env.ts';
import type { spoolSettings } from '../../config/shared-settings.ts';
import { isLarge, type LargeBodyPublisher } from '../../core/delivery.ts';
import { HooklineError } from '../../core/errors.ts';
import type { OutgoingRecord } from '../../core/record.ts';
import type { SealingKeys } from '../../crypto/sealing.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Metrics } from '../../runtime/metrics.ts';
import type { ProcessContext } from '../../runtime/process-shell.ts';
import { type LiveSealingKeys, sealingKeysNow } from '../../runtime/sealing-key-file.ts';
import { Spool } from '../../spool/spool.ts';
import { damageText, HAD_NO_SEAL } from '../../spool/spool-row.ts';
import type { AcceptPorts } from '../accept-delivery.ts';
import { objectFirst } from '../claim-check.ts';
import type { DeliveryPorts, StorePublisher } from '../ports.ts';
import { publishDelivery } from '../publish-delivery.ts';
import { observeSpool, spoolMetrics } from './observe-spool.ts';
import { SpoolingStore } from './spooling-store.ts';

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
  /** Settles when the keys of all subscriptions are known: a spool is drained from then on. */
  readonly keysKnown?: Promise<unknown> | undefined;
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
  const ports: DeliveryPorts = { ...delivery, publish: objectFirst(delivery.claims, send) };
  return {
    store: (verified) =>
      isLarge(verified) ? large.store(verified, () => deadlineMs) : publishDelivery(verified, ports),
    trouble: () => publisher.trouble(),
    stop: async () => {},
  };
}

/** Kafka, and while it is unavailable the spool. */
function storeWithSpool(
  deps: StoreDeps & { readonly spool: Spool; readonly logger: Logger; readonly metrics: Metrics },
): DeliveryStore {
  const { delivery, publisher, large, clock, spool, logger, metrics } = deps;
  const observer = observeSpool({ logger, metrics, spool, clock });
  const store = new SpoolingStore({
    delivery,
    publisher,
    large,
    spool,
    clock,
    observer,
    keysKnown: deps.keysKnown,
    publishDeadlineMs: deps.publishDeadlineMs ?? PUBLISH_DEADLINE_MS.spooling,
  });
  spool.onCounted(() => store.wake());
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
  const open = (keys: SealingKeys | undefined) =>
    Spool.open({ dir, maxBytes, sealingKeys: keys, clock, onDeath: components.fail });
  const spool = await openWithLiveKeys(sealingKeys, open, (opened) => reportMissingKeys(logger, opened));
  components.add('spool', { stop: () => spool.close() });
  if (!sealingKeys)
    logger.warn(
      "SEALING_KEY_FILE is not set: the spool's rows are stored as they were received, with a checksum only",
    );
  reportMissingKeys(logger, spool);
  reportUnproven(logger, spool);
  reportDamage(logger, spool);
  return spool;
}

/**
 * Opens a spool, and renews its keys with the file's, also where that changed while it was opened.
 * @param onMissing called where a renewal has changed how many rows have no key
 */
export async function openWithLiveKeys(
  live: LiveSealingKeys | undefined,
  open: (keys: SealingKeys | undefined) => Promise<Spool>,
  onMissing: (spool: Spool) => void,
): Promise<Spool> {
  const keys = live && sealingKeysNow(live);
  const spool = await open(keys);
  let missing = spool.state.keyMissing;
  spool.onKeysRenewed(() => {
    const { keyMissing } = spool.state;
    if (keyMissing !== missing) onMissing(spool);
    missing = keyMissing;
  });
  // A failure is the spool's own trouble: it shows there, and the keys are used when that is over.
  const renew = (renewed: SealingKeys) => spool.renewKeys(renewed).catch(() => {});
  live?.onRenewed(renew);
  if (live && live.all !== keys?.all) await renew(sealingKeysNow(live));
  return spool;
}

/** Rows without a seal were written without SEALING_KEY_FILE, by an older Hookline, or by somebody who can write to the volume. */
function reportUnproven(logger: Logger, { state: { unproven } }: Pick<Spool, 'state'>): void {
  if (unproven === 0) return;
  logger.warn({ deliveries: unproven }, HAD_NO_SEAL);
}

/** Reports a damaged log once: at the start, or when the file was opened again after a failure of the disk. */
export function reportDamage(logger: Pick<Logger, 'error'>, spool: Pick<Spool, 'state' | 'onCounted'>): void {
  let wasDamaged = false;
  const report = () => {
    if (spool.state.isDamaged && !wasDamaged) logger.error(damageText(spool.state));
    wasDamaged = spool.state.isDamaged;
  };
  spool.onCounted(report);
  report();
}

function reportMissingKeys(logger: Logger, spool: Pick<Spool, 'state'>): void {
  const { keyMissing } = spool.state;
  if (keyMissing === 0) return;
  const remedy = 'add the key to SEALING_KEY_FILE, behind the current one';
  const err = new HooklineError('SPOOL_KEY_MISSING', `${keyMissing} rows`, { remedy });
  logger.error({ err, code: err.code }, 'deliveries stay in the spool');
}
