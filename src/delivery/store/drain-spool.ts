import { setTimeout as sleep } from 'node:timers/promises';
import { isLarge, type LargeCarrier, type StoredDelivery } from '../../core/delivery.ts';
import { HooklineError, hasCode } from '../../core/errors.ts';
import type { Spool } from '../../spool/spool.ts';
import type { SpooledDelivery } from '../../spool/spool-row.ts';
import { storeDeadLetter } from '../dead-letter/store-dead-letter.ts';
import type { DeliveryPorts } from '../ports.ts';
import { publishDelivery } from '../publish-delivery.ts';
import { RefusingTopics, TopicSkipped } from './refusing-topics.ts';

export type DrainParts = {
  readonly spool: Pick<Spool, 'read' | 'remove' | 'outstanding'>;
  /** `publish` waits for Kafka as long as it takes. */
  readonly delivery: DeliveryPorts;
  readonly observer: DrainObserver;
  readonly stopping: AbortSignal;
  /** Takes the large ones; without it they go the way of all. */
  readonly large?: LargeCarrier;
  /** What is left is one batch or so. */
  readonly onNearlyEmpty: () => void;
};

export type DrainObserver = {
  /** A delivery or a look at the disk failed, and is tried again. */
  drainFailed(error: unknown): void;
};

/** Read at once: little enough that taking it apart doesn't hold up an answer. */
const BATCH = { maxRows: 500, maxBytes: 8 * 1024 * 1024 };
/** Batches on their way to Kafka: a drain that waited for each would carry one per round trip, less than what comes. */
const MOST_UNDER_WAY = 8;
const MOST_BYTES_UNDER_WAY = 32 * 1024 * 1024;
const NEARLY_EMPTY_ROWS = BATCH.maxRows + 1_000;
const AGAIN_MS = 1_000;

/** Between two batches while nothing at all is confirmed: each is opened and encoded, and then mostly left where it was. */
const QUIET_MS = 250;

/**
 * Takes the spool's deliveries the way of any webhook, the oldest first, and removes them when they are stored. The
 * order of a key is kept, as the publisher keeps that of the calls. A topic that takes no records does not hold up the
 * others: its deliveries stay, in their order, until it does. (A large delivery waits, with all behind it, until every topic
 * takes records: which one it is for is known only when it has been opened.) What was confirmed but not yet removed when the
 * process is killed comes twice, under the same event id.
 * @returns how many were drained, when the spool is empty
 */
export async function drainSpool(parts: DrainParts): Promise<number> {
  const topics = new RefusingTopics((error) => parts.observer.drainFailed(error));
  try {
    return await drainAll(parts, topics);
  } finally {
    topics.stop();
  }
}

async function drainAll(parts: DrainParts, topics: RefusingTopics): Promise<number> {
  const { spool, stopping } = parts;
  const underWay = new Set<Promise<void>>();
  /** Rows that were read and are not yet removed or skipped. */
  const taken = new Set<number>();
  const failures: unknown[] = [];
  let drained = 0;
  let bytes = 0;
  let lastRead = 0;
  const drainRow = (row: SpooledDelivery, stored: number[]) =>
    new Promise<void>((resolve) => {
      let isReleased = false;
      const release = () => {
        isReleased = true;
        resolve();
      };
      taken.add(row.id);
      drainOne(row, rowParts(parts, topics, { id: row.id, release }))
        .then(async (isStored) => {
          if (!isStored) return void taken.delete(row.id);
          if (!isReleased) return void stored.push(row.id);
          await removeAll([row.id]);
        })
        .catch((error) => void failures.push(error))
        .finally(resolve);
    });
  const removeAll = async (ids: readonly number[]) => {
    if (ids.length > 0) await persist(parts, () => spool.remove(ids));
    for (const id of ids) taken.delete(id);
    drained += ids.length;
  };
  const begin = (batch: readonly SpooledDelivery[]) => {
    const weight = batch.reduce((sum, { delivery }) => sum + delivery.body.length, 0);
    bytes += weight;
    const stored: number[] = [];
    const done = Promise.all(batch.map((row) => drainRow(row, stored)))
      .then(() => removeAll(stored.splice(0)))
      .catch((error) => void failures.push(error))
      .finally(() => {
        bytes -= weight;
        underWay.delete(done);
      });
    underWay.add(done);
  };
  while (spool.outstanding > 0) {
    stopping.throwIfAborted();
    if (failures.length > 0) throw failures[0];
    lastRead = Math.min(lastRead, topics.reopen() - 1);
    if (spool.outstanding <= NEARLY_EMPTY_ROWS && !topics.isAnyStuck) parts.onNearlyEmpty();
    const hasRoom = underWay.size < MOST_UNDER_WAY && bytes < MOST_BYTES_UNDER_WAY;
    if (hasRoom && topics.isQuiet) await sleep(QUIET_MS, undefined, { signal: stopping });
    const read = hasRoom ? await persist(parts, () => spool.read({ ...BATCH, after: lastRead })) : [];
    const batch = read.filter(({ id }) => !taken.has(id));
    const last = read.at(-1);
    const firstLarge = parts.large ? batch.findIndex(isLargeRow) : -1;
    if (last && firstLarge < 0) {
      lastRead = last.id;
      if (batch.length > 0) begin(batch);
    } else if (firstLarge > 0) {
      // Up to it they go together; it is read again, alone, when they are on their way.
      lastRead = batch[firstLarge - 1]?.id ?? lastRead;
      begin(batch.slice(0, firstLarge));
    } else if (batch[0] && !batch[0].isChanged && parts.large) {
      // It takes another way: what came before it must be in Kafka first, and what comes after it waits.
      await Promise.all(underWay);
      if (failures.length > 0) throw failures[0];
      if (topics.isAnyStuck) {
        await sleep(QUIET_MS, undefined, { signal: stopping });
        continue;
      }
      lastRead = batch[0].id;
      await drainLarge(batch[0], parts, parts.large);
      drained++;
    } else if (underWay.size > 0) {
      await Promise.race(underWay);
    } else if (topics.isAnyStuck || taken.size > 0) {
      await sleep(QUIET_MS, undefined, { signal: stopping });
    } else {
      // Those on their way to the disk are not to be seen yet. Nothing is under way, so all that is there is to be read,
      // also what bears a low number again because the file was opened anew.
      lastRead = 0;
      await sleep(1);
    }
  }
  return drained;
}

/** The parts of a row that is published only where its topic takes records. */
function rowParts(
  parts: DrainParts,
  topics: RefusingTopics,
  row: { readonly id: number; readonly release: () => void },
): DrainParts {
  const { publish } = parts.delivery;
  return {
    ...parts,
    delivery: { ...parts.delivery, publish: (record) => topics.publish(record, row, publish) },
  };
}

/**
 * The sender was told that it is stored: whatever happens here, it must get somewhere.
 * @returns false where its topic takes no records: it stays in the spool
 */
async function drainOne(row: SpooledDelivery, parts: DrainParts): Promise<boolean> {
  return persist(parts, async () => {
    try {
      if (row.isChanged) await deadLetterChanged(row.delivery, parts);
      else await publishDelivery(row.delivery, parts.delivery);
      return true;
    } catch (error) {
      if (error instanceof TopicSkipped) return false;
      if (error instanceof HooklineError) throw error;
      await deadLetterUnreadable(row.delivery, error, parts);
      return true;
    }
  });
}

/**
 * Stores a large one and removes it. One that ends its thread twice is parked as it came: nothing that comes later could
 * pass it.
 */
async function drainLarge(
  row: Extract<SpooledDelivery, { isChanged: false }>,
  parts: DrainParts,
  large: LargeCarrier,
): Promise<void> {
  let deaths = 0;
  await persist(parts, async () => {
    try {
      await large.store(row.delivery, () => Number.POSITIVE_INFINITY);
    } catch (error) {
      if (hasCode(error, 'LARGE_BODY_FAILED')) deaths++;
      if (deaths < 2 && !hasCode(error, 'INTERNAL')) throw error;
      await deadLetterUnreadable(row.delivery, error, parts);
    }
  });
  await persist(parts, () => parts.spool.remove([row.id]));
}

/** Its columns may hold anything, of any length. */
async function deadLetterChanged(delivery: StoredDelivery, parts: DrainParts): Promise<void> {
  const [ref, subscriptionId] = [delivery.ref, delivery.subscriptionId].map((text) => text.slice(0, 100));
  const reason = new HooklineError('SPOOL_ROW_CHANGED');
  const named = { ...delivery, ref: ref ?? '', subscriptionId: subscriptionId ?? '', traceparent: undefined };
  await storeDeadLetter({ delivery: named, eventId: undefined, reason, stage: 'SPOOL' }, parts.delivery);
}

const isLargeRow = (row: SpooledDelivery) => !row.isChanged && isLarge(row.delivery);

async function deadLetterUnreadable(
  delivery: StoredDelivery,
  cause: unknown,
  parts: DrainParts,
): Promise<void> {
  parts.observer.drainFailed(cause);
  const reason = new HooklineError('UNENCODABLE', undefined, { cause });
  await storeDeadLetter({ delivery, eventId: undefined, reason, stage: 'ENCODE' }, parts.delivery);
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
