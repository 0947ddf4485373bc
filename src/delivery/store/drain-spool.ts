import { isLarge, type LargeBodyPublisher, type StoredDelivery } from '../../core/delivery.ts';
import { HooklineError, hasCode } from '../../core/errors.ts';
import type { Clock } from '../../runtime/clock.ts';
import { type Backoff, retry } from '../../runtime/retry.ts';
import type { Spool } from '../../spool/spool.ts';
import type { SpooledDelivery } from '../../spool/spool-row.ts';
import { storeDeadLetter } from '../dead-letter/store-dead-letter.ts';
import type { DeliveryPorts } from '../ports.ts';
import { publishDelivery } from '../publish-delivery.ts';
import { RefusingTopics, TopicSkipped } from './refusing-topics.ts';

export type DrainPorts = {
  readonly spool: Pick<Spool, 'read' | 'remove' | 'outstanding'>;
  /** `publish` waits for Kafka as long as it takes. */
  readonly delivery: DeliveryPorts;
  readonly observer: DrainObserver;
  readonly clock: Clock;
  readonly stopping: AbortSignal;
  /** Takes the large ones; without it they are published like all others. */
  readonly large?: LargeBodyPublisher;
  /** What is left is about one batch. */
  readonly onNearlyEmpty: () => void;
};

export type DrainObserver = {
  /** A delivery could not be published, or the disk not be read, and is tried again. */
  drainFailed(error: unknown): void;
};

/** Read at once: little enough that decoding it does not delay an answer. */
const BATCH = { maxRows: 500, maxBytes: 8 * 1024 * 1024 };
/** Batches in progress: a drain that waited for each would publish one per round trip, less than what arrives. */
const MAX_BATCHES = 8;
const MAX_BYTES = 32 * 1024 * 1024;
const NEARLY_EMPTY_ROWS = BATCH.maxRows + 1_000;
/** Between two batches while nothing at all is confirmed: each is opened and encoded, and then mostly left in the spool. */
const QUIET_MS = 250;
const RETRY: Backoff = { firstMs: 1_000, factor: 1, maxMs: 1_000 };

/**
 * Publishes the spool's deliveries like any webhook, the oldest first, and removes them when they are stored. The order
 * of a key is kept, as the publisher keeps that of the calls. A topic that takes no records does not delay the others:
 * its deliveries stay, in their order, until it does. (A large delivery waits, with all behind it, until every topic
 * takes records: its topic is known only when it has been opened.) What was confirmed but not yet removed when the
 * process is killed comes twice, under the same event id.
 * @returns how many were drained, when the spool is empty
 */
export async function drainSpool(ports: DrainPorts): Promise<number> {
  const topics = new RefusingTopics(ports.clock, (error) => ports.observer.drainFailed(error));
  try {
    return await new Drain(ports, topics).run();
  } finally {
    topics.stop();
  }
}

class Drain {
  readonly #ports: DrainPorts;
  readonly #topics: RefusingTopics;
  readonly #batches = new Set<Promise<void>>();
  /** Rows that were read and are not yet removed or skipped. */
  readonly #taken = new Set<number>();
  #failure: { readonly error: unknown } | undefined;
  #drained = 0;
  #bytes = 0;
  #lastRead = 0;

  constructor(ports: DrainPorts, topics: RefusingTopics) {
    this.#ports = ports;
    this.#topics = topics;
  }

  async run(): Promise<number> {
    const { spool, stopping, large } = this.#ports;
    while (spool.outstanding > 0) {
      stopping.throwIfAborted();
      this.#throwFailure();
      this.#lastRead = Math.min(this.#lastRead, this.#topics.reopen() - 1);
      if (spool.outstanding <= NEARLY_EMPTY_ROWS && !this.#topics.isAnyStuck) this.#ports.onNearlyEmpty();
      const read = await this.#read();
      const rows = read.filter(({ id }) => !this.#taken.has(id));
      const firstLarge = large ? rows.findIndex(isLargeRow) : -1;
      const [first] = rows;
      if (read.length > 0 && firstLarge < 0) this.#begin(rows, read.at(-1)?.id);
      // Up to it they go together; it is read again, alone, when they are in progress.
      else if (firstLarge > 0) this.#begin(rows.slice(0, firstLarge), rows[firstLarge - 1]?.id);
      else if (large && first && !first.isChanged) await this.#drainLargeRow(first, large);
      else await this.#waitForMore();
    }
    return this.#drained;
  }

  /** The next rows; none where enough are in progress. */
  async #read(): Promise<readonly SpooledDelivery[]> {
    if (this.#batches.size >= MAX_BATCHES || this.#bytes >= MAX_BYTES) return [];
    if (this.#topics.isQuiet) await this.#pause();
    return persist(this.#ports, () => this.#ports.spool.read({ ...BATCH, after: this.#lastRead }));
  }

  #begin(rows: readonly SpooledDelivery[], lastRead: number | undefined): void {
    this.#lastRead = lastRead ?? this.#lastRead;
    if (rows.length === 0) return;
    const bytes = rows.reduce((sum, { delivery }) => sum + delivery.body.length, 0);
    this.#bytes += bytes;
    const stored: number[] = [];
    const batch = Promise.all(rows.map((row) => this.#drainRow(row, stored)))
      .then(() => this.#remove(stored.splice(0)))
      .catch((error) => this.#fail(error))
      .finally(() => {
        this.#bytes -= bytes;
        this.#batches.delete(batch);
      });
    this.#batches.add(batch);
  }

  /**
   * Resolves when the row is stored, skipped, or found to wait for a topic that takes no records: then its batch waits
   * for it no longer, and it is removed by itself when it is stored.
   */
  #drainRow(row: SpooledDelivery, stored: number[]): Promise<void> {
    this.#taken.add(row.id);
    return new Promise((resolve) => {
      let isReleased = false;
      const release = () => {
        isReleased = true;
        resolve();
      };
      const { publish } = this.#ports.delivery;
      const publishing = (record: Parameters<typeof publish>[0]) =>
        this.#topics.publish(record, { id: row.id, release }, publish);
      drainOne(row, { ...this.#ports, delivery: { ...this.#ports.delivery, publish: publishing } })
        .then(async (isStored) => {
          if (!isStored) this.#taken.delete(row.id);
          else if (!isReleased) stored.push(row.id);
          else await this.#remove([row.id]);
        })
        .catch((error) => this.#fail(error))
        .finally(resolve);
    });
  }

  /** What came before a large one must be in Kafka first, and what comes after it waits: it is published by a thread. */
  async #drainLargeRow(row: VerifiedRow, large: LargeBodyPublisher): Promise<void> {
    await Promise.all(this.#batches);
    this.#throwFailure();
    if (this.#topics.isAnyStuck) return this.#pause();
    this.#lastRead = row.id;
    await drainLarge(row, this.#ports, large);
    this.#drained++;
  }

  async #waitForMore(): Promise<void> {
    if (this.#batches.size > 0) return void (await Promise.race(this.#batches));
    if (this.#topics.isAnyStuck || this.#taken.size > 0) return this.#pause();
    // Rows on their way to the disk cannot be read yet. Nothing is in progress, so all that is there is to be read, also
    // what has a low number again because the file was opened again.
    this.#lastRead = 0;
    await this.#ports.clock.sleep(1);
  }

  async #remove(ids: readonly number[]): Promise<void> {
    if (ids.length > 0) await persist(this.#ports, () => this.#ports.spool.remove(ids));
    for (const id of ids) this.#taken.delete(id);
    this.#drained += ids.length;
  }

  #pause(): Promise<void> {
    return this.#ports.clock.sleep(QUIET_MS, { signal: this.#ports.stopping });
  }

  #fail(error: unknown): void {
    this.#failure ??= { error };
  }

  #throwFailure(): void {
    if (this.#failure) throw this.#failure.error;
  }
}

/**
 * The sender was answered that it is stored: whatever happens here, it must be stored somewhere.
 * @returns false where its topic takes no records: it stays in the spool
 */
async function drainOne(row: SpooledDelivery, ports: DrainPorts): Promise<boolean> {
  return persist(ports, async () => {
    try {
      if (row.isChanged) await deadLetterChanged(row.delivery, ports);
      else await publishDelivery(row.delivery, ports.delivery);
      return true;
    } catch (error) {
      if (error instanceof TopicSkipped) return false;
      if (error instanceof HooklineError) throw error;
      await deadLetterUnreadable(row.delivery, error, ports);
      return true;
    }
  });
}

type VerifiedRow = Extract<SpooledDelivery, { isChanged: false }>;

const isLargeRow = (row: SpooledDelivery) => !row.isChanged && isLarge(row.delivery);

/**
 * Stores a large one and removes it. One that ends its thread twice becomes a dead-letter record as it is: nothing that comes
 * later could pass it.
 */
async function drainLarge(row: VerifiedRow, ports: DrainPorts, large: LargeBodyPublisher): Promise<void> {
  let deaths = 0;
  await persist(ports, async () => {
    try {
      await large.store(row.delivery, () => Number.POSITIVE_INFINITY);
    } catch (error) {
      if (hasCode(error, 'LARGE_BODY_FAILED')) deaths++;
      if (deaths < 2 && !hasCode(error, 'INTERNAL')) throw error;
      await deadLetterUnreadable(row.delivery, error, ports);
    }
  });
  await persist(ports, () => ports.spool.remove([row.id]));
}

/** Of a changed row the columns may hold anything, of any length. */
async function deadLetterChanged(delivery: StoredDelivery, ports: DrainPorts): Promise<void> {
  const ref = delivery.ref.slice(0, 100);
  const subscriptionId = delivery.subscriptionId.slice(0, 100);
  const reason = new HooklineError('SPOOL_ROW_CHANGED');
  const named = { ...delivery, ref, subscriptionId, traceparent: undefined };
  await storeDeadLetter({ delivery: named, eventId: undefined, reason, stage: 'SPOOL' }, ports.delivery);
}

async function deadLetterUnreadable(
  delivery: StoredDelivery,
  cause: unknown,
  ports: DrainPorts,
): Promise<void> {
  ports.observer.drainFailed(cause);
  const reason = new HooklineError('UNENCODABLE', undefined, { cause });
  await storeDeadLetter({ delivery, eventId: undefined, reason, stage: 'ENCODE' }, ports.delivery);
}

/** Tries until it succeeds or the process stops. */
function persist<T>({ clock, stopping, observer }: DrainPorts, work: () => Promise<T>): Promise<T> {
  const again = (error: unknown) => !hasCode(error, 'PUBLISHER_CLOSED');
  const onFailure = (error: unknown) => {
    if (again(error)) observer.drainFailed(error);
  };
  return retry(work, { backoff: RETRY, signal: stopping, again, onFailure, clock });
}
