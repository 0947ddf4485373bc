import type { Clock } from '../../runtime/clock.ts';
import type { SpooledDelivery } from '../../spool/spool-row.ts';
import { type DrainPorts, drainOne, isLargeRow, persist } from './drain-row.ts';
import { LargeRows } from './large-rows.ts';
import { RefusingTopics } from './refusing-topics.ts';
import { RowPublisher } from './row-publisher.ts';
import { RowReader } from './row-reader.ts';
import { RowsInProgress } from './rows-in-progress.ts';
import { type WaitingRow, waitingRow } from './waiting-key.ts';
import { WaitingRows } from './waiting-rows.ts';

/** Read at once: little enough that decoding it does not delay an answer. */
const BATCH = { maxRows: 500, maxBytes: 8 * 1024 * 1024 };
const NEARLY_EMPTY_ROWS = BATCH.maxRows + 1_000;
/** Between two batches while nothing at all is confirmed: each is opened and encoded, and then mostly left in the spool. */
const QUIET_MS = 250;

/**
 * Publishes the spool's deliveries like any webhook, the oldest first, and removes them when they are stored. The order
 * of a key is kept, as the publisher keeps that of the calls. A topic that takes no records does not delay the others:
 * its deliveries stay, in their order, until it does. (A large delivery waits, with all behind it, until every topic
 * takes records: its topic is known only when it has been opened.) So do deliveries whose object the store does not take, or
 * takes long to, and later ones of their keys; see {@link WaitingRows}. What was confirmed but not yet removed when the process is
 * killed comes twice, under the same event id.
 * @throws the reason of a stop; and an error that no part of it has foreseen. Where `observer.drainBroken` hears of that, the rows that
 *   were in progress have ended then, and another drain can begin
 */
export async function drainSpool(ports: DrainPorts): Promise<void> {
  const drain = new Drain(ports);
  try {
    await drain.run();
  } catch (error) {
    const { observer, stopping } = ports;
    if (observer.drainBroken && !stopping.aborted) {
      observer.drainBroken(error);
      await drain.whenNoneInProgress();
    }
    throw error;
  } finally {
    drain.end();
  }
}

class Drain {
  readonly #ports: DrainPorts;
  readonly #topics: RefusingTopics;
  readonly #waiting: WaitingRows;
  readonly #largeRows: LargeRows | undefined;
  readonly #reader: RowReader;
  readonly #progress: RowsInProgress;
  readonly #publisher: RowPublisher;
  #failure: { readonly error: unknown } | undefined;

  constructor(ports: DrainPorts) {
    const { delivery, observer, clock, large } = ports;
    this.#ports = ports;
    const failed = (error: unknown) => observer.drainFailed(error);
    this.#topics = new RefusingTopics(clock, failed);
    const held = (order: string) => ports.onHeld?.(order);
    this.#waiting = new WaitingRows(delivery.claims, clock, { held, refused: failed });
    this.#progress = new RowsInProgress(clock);
    this.#reader = new RowReader(ports, this.#waiting, this.#progress.taken);
    this.#publisher = new RowPublisher(ports, this.#topics, this.#waiting);
    this.#largeRows = large && new LargeRows(ports, large, this.#waiting);
  }

  /** What another drain would begin once more while this one still counts it, and would count when it is gone. */
  whenNoneInProgress(): Promise<void> {
    return this.#progress.whenNone(this.#ports.stopping);
  }

  end(): void {
    this.#topics.stop();
  }

  async run(): Promise<void> {
    const { spool, stopping } = this.#ports;
    const { taken } = this.#progress;
    // Rows whose key is lost do not count, and may be in progress: the next drain would begin them once more.
    while (spool.outstanding > 0 || taken.size > 0) {
      stopping.throwIfAborted();
      this.#throwFailure();
      this.#progress.startRound();
      this.#reader.goBackTo(this.#topics.reopen());
      await this.#reader.followKeys();
      if (this.#isNearlyEmpty) this.#ports.onNearlyEmpty?.();
      const next = this.#nextWaiting();
      await this.#retry(next);
      const read = await this.#read();
      const rows = read.filter(({ id }) => !taken.has(id) && !this.#waiting.has(id));
      if (read.length > 0) this.#begin(rows, read.at(-1)?.id);
      else if (next.length === 0 && !(await this.#drainLargeRow())) await this.#waitForMore();
    }
  }

  /** Something that already takes long would not be stored soon. */
  get #isNearlyEmpty(): boolean {
    const left = this.#ports.spool.outstanding - this.#waiting.count;
    const isSlow = this.#topics.isAnyStuck || this.#progress.isSlow;
    return left > 0 && left <= NEARLY_EMPTY_ROWS && !isSlow;
  }

  #nextWaiting(): readonly WaitingRow[] {
    if (this.#progress.isBusy) return [];
    const limits = { ...BATCH, withLarge: !this.#topics.isAnyStuck };
    return this.#waiting.next({ ...limits, tried: this.#progress.taken, upTo: this.#reader.lastRead });
  }

  /** Tries rows again that waited for the object store, a large one by itself. */
  async #retry(waiting: readonly WaitingRow[]): Promise<void> {
    for (const row of waiting) this.#waiting.begin(row);
    const large = waiting.find(({ isLarge }) => isLarge);
    if (large && this.#largeRows) void this.#retryLarge(large, this.#largeRows);
    const small = waiting.filter(({ isLarge }) => !isLarge);
    const read = (row: WaitingRow) => this.#ports.spool.read({ maxRows: 1, maxBytes: 0, after: row.id - 1 });
    const found = (await persist(this.#ports, () => Promise.all(small.map(read)))).flat();
    this.#begin(found.filter(({ id }) => small.some((row) => row.id === id)));
    for (const row of small) if (!this.#progress.taken.has(row.id)) this.#waiting.end(row, true);
  }

  get #isIdle(): boolean {
    return this.#progress.isIdle && !this.#topics.isAnyStuck;
  }

  /** Nothing is in progress but small rows whose key is known to wait: a large one of it would wait, too. */
  get #isIdleButForSlow(): boolean {
    const { hasBatches, taken } = this.#progress;
    const isOnlySlow = !hasBatches && taken.size === this.#waiting.smallInProgress;
    return isOnlySlow && !this.#topics.isAnyStuck;
  }

  /** The next rows, up to one that a thread publishes; none where enough are in progress. */
  async #read(): Promise<readonly SpooledDelivery[]> {
    if (this.#progress.isBusy) return [];
    const { clock, stopping: signal } = this.#ports;
    if (this.#topics.isQuiet) await clock.sleep(QUIET_MS, { signal });
    return this.#reader.read(BATCH);
  }

  #begin(rows: readonly SpooledDelivery[], lastRead = 0): void {
    this.#reader.skipTo(lastRead);
    if (rows.length === 0) return;
    const stored: number[] = [];
    const batch = Promise.all(rows.map((row) => this.#drainRow(row, stored)));
    this.#progress.addBatch(
      batch.then(() => this.#remove(stored.splice(0))).catch((error) => this.#fail(error)),
    );
  }

  /**
   * Resolves when the row is stored, skipped, or found to wait for a topic that takes no records, or for its object: then
   * its batch waits for it no longer, and it is removed by itself when it is stored.
   */
  #drainRow(row: SpooledDelivery, stored: number[]): Promise<void> {
    this.#progress.take(row.id);
    const { promise, resolve } = Promise.withResolvers<void>();
    const giveBytes = this.#progress.hold(row.delivery.body.length);
    let isReleased = false;
    const release = () => {
      isReleased = true;
      resolve();
    };
    const byTopic = () => {
      giveBytes();
      release();
    };
    const publish = this.#publisher.publishOf(row, { byObject: release, byTopic });
    const end = this.#progress.begin();
    drainOne(row, this.#ports, { ...this.#ports.delivery, publish })
      .then(async (isStored) => {
        this.#waiting.end(waitingRow(row), isStored);
        if (!isStored) this.#progress.giveBack(row.id);
        else if (!isReleased) stored.push(row.id);
        else await this.#remove([row.id]);
      })
      .catch((error) => this.#fail(error))
      .finally(() => {
        giveBytes();
        resolve();
        end();
        if (isReleased) this.#progress.noteEnd();
      });
    return promise;
  }

  /**
   * The next row where that is a large one. What came before it must be in Kafka first, or its key be known to wait; what comes
   * after it waits: it is published by a thread.
   * @returns false where it is not its turn, or there is none
   */
  async #drainLargeRow(): Promise<boolean> {
    if (!this.#largeRows || !this.#isIdleButForSlow) return false;
    const { large } = this.#waiting;
    const row = await this.#largeRows.read(this.#reader.lastRead, large);
    // There are none but those that wait.
    this.#reader.skipTo(row?.id ?? Math.max(0, ...large));
    if (!row) return false;
    if (!isLargeRow(row)) this.#begin([row]);
    else if (await this.#largeRows.drain(row)) this.#ports.onDrained?.(1);
    return true;
  }

  async #retryLarge(waiting: WaitingRow, rows: LargeRows): Promise<void> {
    this.#progress.take(waiting.id);
    const end = this.#progress.begin();
    try {
      const row = await rows.read(waiting.id - 1);
      if (row?.id !== waiting.id) this.#waiting.end(waiting, true);
      else if (!isLargeRow(row)) return this.#begin([row]);
      else if (await rows.drain(row)) this.#ports.onDrained?.(1);
    } catch (error) {
      this.#fail(error);
    } finally {
      end();
    }
    this.#progress.giveBack(waiting.id);
    this.#progress.noteEnd();
  }

  async #waitForMore(): Promise<void> {
    const { spool, clock } = this.#ports;
    const areAllWaiting = this.#waiting.count > 0 && spool.outstanding === this.#waiting.count;
    if (areAllWaiting && this.#reader.isSure && !this.#topics.isAnyStuck)
      this.#ports.onOnlyWaiting?.(this.#waiting);
    else if (this.#isIdle) return this.#waitForRows(clock);
    await this.#progress.waitForEnd(QUIET_MS);
  }

  /** Rows on their way to the disk cannot be read yet. Nothing is in progress, so all that is there is to be read. */
  async #waitForRows(clock: Clock): Promise<void> {
    // Those that wait would be read for nothing.
    if (this.#waiting.size === 0) this.#reader.goBackTo(1);
    await clock.sleep(1);
  }

  async #remove(ids: readonly number[]): Promise<void> {
    if (ids.length > 0) await persist(this.#ports, () => this.#ports.spool.remove(ids));
    for (const id of ids) this.#progress.giveBack(id);
    this.#publisher.stored(ids);
    this.#ports.onDrained?.(ids.length);
  }

  #fail(error: unknown): void {
    this.#failure ??= { error };
  }

  #throwFailure(): void {
    if (this.#failure) throw this.#failure.error;
  }
}
