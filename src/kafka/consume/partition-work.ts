import type { Lease } from '../../core/lease.ts';
import type { IncomingRecord } from '../../core/record.ts';
import type { Clock } from '../../runtime/clock.ts';
import { type Backoff, retry } from '../../runtime/retry.ts';
import type { KeyedQueue } from './keyed-queue.ts';

export type PartitionWorkDeps = {
  readonly queue: KeyedQueue;
  /** The keys of what the record must not run beside. If it rejects it is called again, and the records behind it wait. */
  readonly keysOf: (record: IncomingRecord) => Promise<readonly string[]>;
  readonly handle: (record: IncomingRecord, lease: Lease) => Promise<void>;
  /** A record's keys could not be read, its handler failed, or its commit: each is tried again. */
  readonly onError: (error: unknown, record: IncomingRecord) => void;
  /** Ends this work at once where the partition may be another's. */
  readonly checkLease: () => void;
  /** See Lease. */
  readonly leftMs: () => number;
  /** Commits that everything before this offset is done. */
  readonly commit: (offset: bigint) => Promise<void>;
  /** Records are taken again, after the work was full. */
  readonly onCapacity: () => void;
  readonly clock: Clock;
};

/**
 * Records of a partition that are in progress or queued, and their bytes; more are not taken. There are
 * many, so that a key whose first record hangs does not soon fill its partition with what waits behind it.
 */
const MAX_OPEN = 1_000;
const MAX_BYTES = 8 * 1024 * 1024;
/** 0.4 to 0.5 s before what failed is tried again. */
const AGAIN: Backoff = { firstMs: 500, factor: 1, maxMs: 500 };

/**
 * The records of one partition that are in progress here. They end in any order. What is committed has no gap before it:
 * after a crash the records behind it come again.
 */
export class PartitionWork {
  readonly #deps: PartitionWorkDeps;
  readonly #ending = new AbortController();
  /** By offset, the bytes. Ascending: a Map keeps the order in which they came. */
  readonly #open = new Map<bigint, number>();
  #bytes = 0;
  readonly #running = new Set<Promise<void>>();
  /** Settled when every record that was taken is in the queue: in the order in which they came. */
  #queued: Promise<void> = Promise.resolve();
  /** Behind the last record that was taken. */
  #next = -1n;
  #last: IncomingRecord | undefined;
  #committed = -1n;
  #committing: Promise<void> = Promise.resolve();
  /** Set by the loop itself: its promise settles a moment after its last check. */
  #isCommitting = false;
  #wasFull = false;

  constructor(deps: PartitionWorkDeps) {
    this.#deps = deps;
  }

  get isFull(): boolean {
    return this.#open.size >= MAX_OPEN || this.#bytes >= MAX_BYTES;
  }

  /** The first offset that isn't done; null before the first record. */
  get mark(): bigint | null {
    const [first] = this.#open.keys();
    return this.#next < 0n ? null : (first ?? this.#next);
  }

  /** The first offset that isn't committed; null before the first record. */
  get committed(): bigint | null {
    return this.#committed < 0n ? null : this.#committed;
  }

  /** Skips a record that was taken before, as it comes after each rebalance. */
  take(record: IncomingRecord): void {
    if (record.offset < this.#next || this.#ending.signal.aborted) return;
    if (this.#next < 0n) this.#committed = record.offset;
    this.#next = record.offset + 1n;
    this.#last = record;
    const bytes = bytesOf(record);
    this.#open.set(record.offset, bytes);
    this.#bytes += bytes;
    if (this.isFull) this.#wasFull = true;
    this.#queued = this.#queued.then(() => this.#enqueue(record));
  }

  /** Behind the last record there is none up to here: it is committed with that one, as else something would seem to wait. */
  pass(next: bigint): void {
    if (next <= this.#next) return;
    this.#next = next;
    this.#beginCommit();
  }

  /** Another process may have the partition now: nothing more is begun, and nothing committed. */
  end(): void {
    this.#ending.abort();
  }

  /** Ends, waits for the handlers under way, and commits what they brought to their end. */
  async finish(): Promise<void> {
    this.end();
    await this.#queued;
    await Promise.all(this.#running);
    await this.#committing;
    const { mark } = this;
    if (mark !== null && mark > this.#committed) await this.#deps.commit(mark).catch(() => {});
  }

  /** Here, not where records are fetched: what the records of one partition wait for delays no other partition. */
  async #enqueue(record: IncomingRecord): Promise<void> {
    const keys = await this.#untilEnd(record, async () => {
      // Reading a large record takes time: other partitions' records are read in between.
      await new Promise(setImmediate);
      return this.#deps.keysOf(record);
    });
    if (keys === ENDED) return;
    const run = this.#deps.queue.run({ topic: record.topic, keys }, () => this.#handle(record));
    this.#running.add(run);
    void run.then(() => this.#running.delete(run));
  }

  async #handle(record: IncomingRecord): Promise<void> {
    const { signal } = this.#ending;
    const lease: Lease = {
      signal,
      check: () => {
        this.#deps.checkLease();
        signal.throwIfAborted();
      },
      leftMs: this.#deps.leftMs,
    };
    const handled = await this.#untilEnd(record, () => this.#deps.handle(record, lease));
    if (handled !== ENDED) this.#settle(record);
  }

  #settle({ offset }: IncomingRecord): void {
    this.#bytes -= this.#open.get(offset) ?? 0;
    this.#open.delete(offset);
    this.#beginCommit();
    if (!this.#wasFull || this.#open.size > MAX_OPEN / 2 || this.#bytes > MAX_BYTES / 2) return;
    this.#wasFull = false;
    this.#deps.onCapacity();
  }

  #beginCommit(): void {
    if (!this.#isCommitting) this.#committing = this.#commit();
  }

  /** One commit at a time; what ends meanwhile goes with the next one. */
  async #commit(): Promise<void> {
    this.#isCommitting = true;
    while (!this.#ending.signal.aborted) {
      const { mark } = this;
      if (mark === null || mark <= this.#committed) break;
      // What ended since the last attempt goes with this one.
      await this.#untilEnd(this.#last, async () => {
        const offset = this.mark ?? mark;
        await this.#deps.commit(offset);
        this.#committed = offset;
      });
    }
    this.#isCommitting = false;
  }

  /** Tries again until it succeeds, or this work ends. */
  #untilEnd<T>(record: IncomingRecord | undefined, attempt: () => Promise<T>): Promise<T | typeof ENDED> {
    const { signal } = this.#ending;
    const onFailure = (error: unknown) => {
      if (record) this.#deps.onError(error, record);
    };
    const { clock } = this.#deps;
    return retry(attempt, { signal, backoff: AGAIN, onFailure, clock }).catch((error) => {
      if (signal.aborted) return ENDED;
      throw error;
    });
  }
}

/** What it keeps of memory. Of a command only the value counts, but who writes one can give it any key and any headers. */
function bytesOf({ key, value, headers }: IncomingRecord): number {
  let bytes = (key?.length ?? 0) + (value?.length ?? 0);
  for (const [name, text] of Object.entries(headers)) bytes += name.length + text.length;
  return bytes;
}

const ENDED = Symbol('the work of the partition has ended');
