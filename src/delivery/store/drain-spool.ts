import type { SpooledDelivery } from '../../spool/spool-row.ts';
import { type DrainPorts, drainOne, isLargeRow, persist } from './drain-row.ts';
import { LargeRows } from './large-rows.ts';
import { RefusingTopics } from './refusing-topics.ts';
import { RowPublisher } from './row-publisher.ts';
import { RowReader } from './row-reader.ts';
import { type WaitingRow, WaitingRows, waitingRow } from './waiting-rows.ts';

/** Read at once: little enough that decoding it does not delay an answer. */
const BATCH = { maxRows: 500, maxBytes: 8 * 1024 * 1024 };
/** Batches in progress: a drain that waited for each would publish one per round trip, less than what arrives. */
const MAX_BATCHES = 8;
const MAX_BYTES = 32 * 1024 * 1024;
const NEARLY_EMPTY_ROWS = BATCH.maxRows + 1_000;
/** Between two batches while nothing at all is confirmed: each is opened and encoded, and then mostly left in the spool. */
const QUIET_MS = 250;
/** A batch takes no longer, unless something is slow or does not take its rows. */
const SLOW_MS = 1_000;

/**
 * Publishes the spool's deliveries like any webhook, the oldest first, and removes them when they are stored. The order
 * of a key is kept, as the publisher keeps that of the calls. A topic that takes no records does not delay the others:
 * its deliveries stay, in their order, until it does. (A large delivery waits, with all behind it, until every topic
 * takes records: its topic is known only when it has been opened.) So do deliveries whose object the store does not take, and
 * later ones of their keys; see {@link WaitingRows}. What was confirmed but not yet removed when the
 * process is killed comes twice, under the same event id.
 * @returns how many were drained, when the spool is empty
 */
export async function drainSpool(ports: DrainPorts): Promise<number> {
  const topics = new RefusingTopics(ports.clock, (error) => ports.observer.drainFailed(error));
  const waiting = new WaitingRows(ports.delivery.claims, ports.clock, {
    held: (order) => ports.onHeld?.(order),
    refused: (error) => ports.observer.drainFailed(error),
  });
  try {
    return await new Drain(ports, topics, waiting).run();
  } finally {
    topics.stop();
  }
}

class Drain {
  readonly #ports: DrainPorts;
  readonly #topics: RefusingTopics;
  readonly #waiting: WaitingRows;
  readonly #largeRows: LargeRows | undefined;
  readonly #reader: RowReader;
  /** And when they began: the oldest is first. */
  readonly #batches = new Map<Promise<void>, number>();
  /** Rows that were read and are not yet removed or skipped. */
  readonly #taken = new Set<number>();
  readonly #publisher: RowPublisher;
  #failure: { readonly error: unknown } | undefined;
  #drained = 0;
  #bytes = 0;

  constructor(ports: DrainPorts, topics: RefusingTopics, waiting: WaitingRows) {
    this.#ports = ports;
    this.#topics = topics;
    this.#waiting = waiting;
    this.#reader = new RowReader(ports, waiting, this.#taken);
    this.#publisher = new RowPublisher(ports, topics, waiting);
    this.#largeRows = ports.large && new LargeRows(ports, ports.large, waiting);
  }

  async run(): Promise<number> {
    const { spool, stopping } = this.#ports;
    // Rows whose key is lost do not count, and may be in progress: the next drain would begin them once more.
    while (spool.outstanding > 0 || this.#taken.size > 0) {
      stopping.throwIfAborted();
      this.#throwFailure();
      this.#reader.goBackTo(this.#topics.reopen());
      await this.#reader.followKeys();
      if (this.#isNearlyEmpty) this.#ports.onNearlyEmpty?.();
      const next = this.#nextWaiting();
      // What is in progress ends first, and nothing begins meanwhile: else a large one would never have its turn.
      if (next.some(({ isLarge }) => isLarge) && !this.#isIdle) {
        await this.#waitForMore();
        continue;
      }
      await this.#retry(next);
      const read = await this.#read();
      const rows = read.filter(({ id }) => !this.#taken.has(id) && !this.#waiting.has(id));
      if (read.length > 0) this.#begin(rows, read.at(-1)?.id);
      else if (next.length === 0 && !(await this.#drainLargeRow())) await this.#waitForMore();
    }
    return this.#drained;
  }

  /** A batch that already takes long would not be stored soon. */
  get #isNearlyEmpty(): boolean {
    const { spool, clock } = this.#ports;
    const left = spool.outstanding - this.#waiting.size;
    const [oldest = Number.POSITIVE_INFINITY] = this.#batches.values();
    const isSlow = this.#topics.isAnyStuck || clock.now() - oldest > SLOW_MS;
    return left > 0 && left <= NEARLY_EMPTY_ROWS && !isSlow;
  }

  #nextWaiting(): readonly WaitingRow[] {
    const limits = { ...BATCH, withLarge: !this.#topics.isAnyStuck };
    return this.#isBusy
      ? []
      : this.#waiting.next({ ...limits, tried: this.#taken, upTo: this.#reader.lastRead });
  }

  /** Tries rows again that waited for the object store, a large one by itself. */
  async #retry(waiting: readonly WaitingRow[]): Promise<void> {
    const large = waiting.find(({ isLarge }) => isLarge);
    if (large && this.#largeRows) await this.#retryLarge(large, this.#largeRows);
    const small = waiting.filter(({ isLarge }) => !isLarge);
    for (const row of small) this.#waiting.begin(row);
    const read = (row: WaitingRow) => this.#ports.spool.read({ maxRows: 1, maxBytes: 0, after: row.id - 1 });
    const found = (await persist(this.#ports, () => Promise.all(small.map(read)))).flat();
    this.#begin(found.filter(({ id }) => small.some((row) => row.id === id)));
    for (const row of small) if (!this.#taken.has(row.id)) this.#waiting.end(row, true);
  }

  get #isBusy(): boolean {
    return this.#batches.size >= MAX_BATCHES || this.#bytes >= MAX_BYTES;
  }

  get #isIdle(): boolean {
    return this.#batches.size === 0 && this.#taken.size === 0 && !this.#topics.isAnyStuck;
  }

  /** The next rows, up to one that a thread publishes; none where enough are in progress. */
  async #read(): Promise<readonly SpooledDelivery[]> {
    if (this.#isBusy) return [];
    if (this.#topics.isQuiet) await this.#pause();
    return this.#reader.read(BATCH);
  }

  #begin(rows: readonly SpooledDelivery[], lastRead = 0): void {
    this.#reader.skipTo(lastRead);
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
    this.#batches.set(batch, this.#ports.clock.now());
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
      drainOne(row, this.#ports, {
        ...this.#ports.delivery,
        publish: this.#publisher.publishOf(row, release),
      })
        .then(async (isStored) => {
          this.#waiting.end(waitingRow(row), isStored);
          if (!isStored) this.#taken.delete(row.id);
          else if (!isReleased) stored.push(row.id);
          else await this.#remove([row.id]);
        })
        .catch((error) => this.#fail(error))
        .finally(resolve);
    });
  }

  /**
   * The next row where that is a large one. What came before it must be in Kafka first, and what comes after it waits: it is
   * published by a thread.
   * @returns false where it is not its turn, or there is none
   */
  async #drainLargeRow(): Promise<boolean> {
    if (!this.#largeRows || !this.#isIdle) return false;
    const { large } = this.#waiting;
    const row = await this.#largeRows.read(this.#reader.lastRead, large);
    // There are none but those that wait.
    this.#reader.skipTo(row?.id ?? Math.max(0, ...large));
    if (row) await this.#drainLarge(row, this.#largeRows);
    return row !== undefined;
  }

  async #retryLarge(waiting: WaitingRow, rows: LargeRows): Promise<void> {
    this.#waiting.begin(waiting);
    const row = await rows.read(waiting.id - 1);
    if (row?.id === waiting.id) await this.#drainLarge(row, rows);
    else this.#waiting.end(waiting, true);
  }

  async #drainLarge(row: SpooledDelivery, rows: LargeRows): Promise<void> {
    if (!isLargeRow(row)) this.#begin([row]);
    else if (await rows.drain(row)) this.#drained++;
  }

  async #waitForMore(): Promise<void> {
    if (this.#batches.size > 0) return this.#waitForBatch();
    if (this.#topics.isAnyStuck || this.#taken.size > 0) return this.#pause();
    const { spool, clock } = this.#ports;
    if (this.#waiting.size > 0 && spool.outstanding === this.#waiting.size && this.#reader.isSure) {
      this.#ports.onOnlyWaiting?.(this.#waiting);
      return this.#pause();
    }
    // Rows on their way to the disk cannot be read yet. Nothing is in progress, so all that is there is to be read; those that
    // wait would be read for nothing.
    if (this.#waiting.size === 0) this.#reader.goBackTo(1);
    await clock.sleep(1);
  }

  /** For one to end. It ends with its slowest row, and meanwhile others may have come, or become due. */
  async #waitForBatch(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = this.#ports.clock.after(QUIET_MS, resolve);
    await Promise.race([promise, ...this.#batches.keys()]);
    timer.cancel();
  }

  async #remove(ids: readonly number[]): Promise<void> {
    if (ids.length > 0) await persist(this.#ports, () => this.#ports.spool.remove(ids));
    for (const id of ids) this.#taken.delete(id);
    this.#publisher.stored(ids);
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
