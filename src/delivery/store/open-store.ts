import type { ValuesOf } from '../../config/env.ts';
import { isLarge, type LargeCarrier } from '../../core/delivery.ts';
import type { SealingKeys } from '../../crypto/sealing.ts';
import type { Publisher } from '../../kafka/produce/publisher.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Metrics } from '../../runtime/metrics.ts';
import type { spoolSettings } from '../../spool/settings.ts';
import { Spool } from '../../spool/spool.ts';
import { type AcceptParts, storeDelivery } from '../accept-delivery.ts';
import type { DeliveryParts } from '../ports.ts';
import { observeSpool } from './observe-spool.ts';
import { SpoolingStore } from './spooling-store.ts';

/** Longest time that an event waits for the brokers. With a spool that is all that a slow Kafka costs its sender. */
const PUBLISH_DEADLINE_MS = { alone: 15_000, spooling: 2_000 };

/** Where verified deliveries are stored. */
export type DeliveryStore = {
  readonly store: AcceptParts['store'];
  /** Why nothing can be stored durably now, in words, or null. */
  trouble(): string | null;
  stop(): Promise<void>;
};

export type StoreParts = {
  readonly delivery: Omit<DeliveryParts, 'publish'>;
  readonly publisher: Pick<Publisher, 'publish' | 'dropWaiting' | 'trouble'>;
  /** PUBLISH_DEADLINE_MS, where it is set. */
  readonly publishDeadlineMs: number | undefined;
  /** Takes the large ones. */
  readonly large: LargeCarrier;
};

/** Kafka alone: while it is away nothing can be stored. */
export function storeInKafka({ delivery, publisher, publishDeadlineMs, large }: StoreParts): DeliveryStore {
  const deadlineMs = publishDeadlineMs ?? PUBLISH_DEADLINE_MS.alone;
  const parts: DeliveryParts = {
    ...delivery,
    publish: (record) => publisher.publish(record, deadlineMs),
  };
  return {
    store: (verified) =>
      isLarge(verified) ? large.store(verified, () => deadlineMs) : storeDelivery(verified, parts),
    trouble: () => publisher.trouble(),
    stop: async () => {},
  };
}

/** Kafka, and while it is away the spool. */
export function storeWithSpool(
  parts: StoreParts & { readonly spool: Spool; readonly logger: Logger; readonly metrics: Metrics },
): DeliveryStore {
  const { delivery, publisher, large, spool, logger, metrics } = parts;
  const store = new SpoolingStore({
    delivery,
    publisher,
    large,
    spool,
    publishDeadlineMs: parts.publishDeadlineMs ?? PUBLISH_DEADLINE_MS.spooling,
    observer: observeSpool({ logger, metrics, spool }),
  });
  return {
    store: (verified) => store.store(verified),
    trouble() {
      // While it is in use everything goes behind what is in it: Kafka alone is then of no help.
      const away = store.isSpooling ? 'in use' : publisher.trouble();
      return away !== null && spool.trouble !== null ? `Kafka: ${away}; spool: ${spool.trouble}` : null;
    },
    stop: () => store.stop(),
  };
}

/**
 * The spool of SPOOL_DIR; undefined where that is unset.
 * @throws HooklineError SPOOL_IN_USE, SPOOL_INVALID, SPOOL_FAILING
 */
export async function openSpool(
  { dir, maxBytes }: ValuesOf<typeof spoolSettings>,
  sealingKeys: SealingKeys | undefined,
  onDeath: (error: Error) => void,
): Promise<Spool | undefined> {
  return dir === undefined ? undefined : Spool.open({ dir, maxBytes, sealingKeys, onDeath });
}
