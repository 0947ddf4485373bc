import { setTimeout as sleep } from 'node:timers/promises';
import { HooklineError, hasCode } from '../core/errors.ts';
import type { Spool } from '../spool/spool.ts';
import type { SpooledDelivery } from '../spool/spool-row.ts';
import { storeDelivery } from './accept-delivery.ts';
import type { DeliveryParts } from './delivery-parts.ts';
import { parkDelivery } from './park-delivery.ts';

export type DrainParts = {
  readonly spool: Pick<Spool, 'read' | 'remove' | 'outstanding'>;
  /** `publish` waits for Kafka as long as it takes. */
  readonly delivery: DeliveryParts;
  readonly observer: DrainObserver;
  readonly stopping: AbortSignal;
  /** What is left is one batch or so. */
  readonly onNearlyEmpty: () => void;
};

export type DrainObserver = {
  /** A delivery or a look at the disk failed, and is tried again. */
  drainFailed(error: unknown): void;
};

/** One batch: enough to fill every lane, little enough to hold in memory. */
const BATCH = { maxRows: 500, maxBytes: 8 * 1024 * 1024 };
const NEARLY_EMPTY_ROWS = 1_000;
const AGAIN_MS = 1_000;

/**
 * Takes the spool's deliveries the way of any webhook, the oldest first, and removes them when they are stored. The
 * order of a key is kept, as the publisher keeps that of the calls. What was confirmed but not yet removed when the
 * process is killed comes twice, under the same event id.
 * @returns how many were drained, when the spool is empty
 */
export async function drainSpool(parts: DrainParts): Promise<number> {
  const { spool, stopping } = parts;
  let drained = 0;
  while (spool.outstanding > 0) {
    stopping.throwIfAborted();
    const batch = await persist(parts, () => spool.read(BATCH));
    // Those on their way to the disk are not to be seen yet.
    if (batch.length === 0) await sleep(1);
    if (spool.outstanding <= batch.length + NEARLY_EMPTY_ROWS) parts.onNearlyEmpty();
    await Promise.all(batch.map((row) => drainOne(row, parts)));
    const ids = batch.map(({ id }) => id);
    if (ids.length > 0) await persist(parts, () => spool.remove(ids));
    drained += batch.length;
  }
  return drained;
}

/** The sender was told that it is stored: whatever happens here, it must get somewhere. */
async function drainOne({ delivery }: SpooledDelivery, parts: DrainParts): Promise<void> {
  await persist(parts, async () => {
    try {
      await storeDelivery(delivery, parts.delivery);
    } catch (error) {
      if (error instanceof HooklineError) throw error;
      parts.observer.drainFailed(error);
      const reason = new HooklineError('UNENCODABLE', undefined, { cause: error });
      await parkDelivery({ delivery, eventId: undefined, reason, stage: 'ENCODE' }, parts.delivery);
    }
  });
}

/** Tries until it succeeds or the process stops. */
async function persist<T>(parts: DrainParts, work: () => Promise<T>): Promise<T> {
  for (;;) {
    parts.stopping.throwIfAborted();
    try {
      return await work();
    } catch (error) {
      if (hasCode(error, 'PUBLISHER_CLOSED')) throw error;
      parts.observer.drainFailed(error);
      await sleep(AGAIN_MS, undefined, { signal: parts.stopping });
    }
  }
}
