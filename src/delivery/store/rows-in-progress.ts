import type { Clock } from '../../runtime/clock.ts';

/** Batches in progress: a drain that waited for each would publish one per round trip, less than what arrives. */
const MAX_BATCHES = 8;
const MAX_BYTES = 32 * 1024 * 1024;
/** A batch takes no longer, unless something is slow or does not take its rows. */
const SLOW_BATCH_MS = 1_000;

/** What a drain has begun: how much it is, and when some of it has ended. */
export class RowsInProgress {
  readonly #clock: Clock;
  /** And when they began: the oldest is first. */
  readonly #batches = new Map<Promise<void>, number>();
  /** Rows that were read and are not yet removed or skipped. */
  readonly #taken = new Set<number>();
  #bytes = 0;
  #ended = Promise.withResolvers<void>();
  /** How many rows and batches have begun and not ended, whatever became of them. */
  #begun = 0;
  #none: PromiseWithResolvers<void> | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get taken(): ReadonlySet<number> {
    return this.#taken;
  }

  get isBusy(): boolean {
    return this.#batches.size >= MAX_BATCHES || this.#bytes >= MAX_BYTES;
  }

  get hasBatches(): boolean {
    return this.#batches.size > 0;
  }

  get isIdle(): boolean {
    return this.#batches.size === 0 && this.#taken.size === 0;
  }

  /** A batch takes long: it would not be stored soon. */
  get isSlow(): boolean {
    const [oldest = Number.POSITIVE_INFINITY] = this.#batches.values();
    return this.#clock.now() - oldest > SLOW_BATCH_MS;
  }

  take(id: number): void {
    this.#taken.add(id);
  }

  giveBack(id: number): void {
    this.#taken.delete(id);
  }

  /** Counts something that has begun until the function that it returns is called. */
  begin(): () => void {
    this.#begun++;
    return () => {
      if (--this.#begun === 0) this.#none?.resolve();
    };
  }

  /** Resolves when all that has begun has ended, or when the process stops. */
  async whenNone(stopping: AbortSignal): Promise<void> {
    if (this.#begun === 0 || stopping.aborted) return;
    const none = Promise.withResolvers<void>();
    this.#none = none;
    stopping.addEventListener('abort', () => none.resolve(), { once: true });
    await none.promise;
  }

  /** Counts bytes until the function that it returns is called, however often. */
  hold(bytes: number): () => void {
    let held = bytes;
    this.#bytes += held;
    return () => {
      this.#bytes -= held;
      held = 0;
    };
  }

  addBatch(work: Promise<void>): void {
    const end = this.begin();
    const batch = work.finally(() => {
      this.#batches.delete(batch);
      end();
      this.noteEnd();
    });
    this.#batches.set(batch, this.#clock.now());
  }

  noteEnd(): void {
    this.#ended.resolve();
  }

  /** What ends from now on ends the next {@link waitForEnd}. */
  startRound(): void {
    this.#ended = Promise.withResolvers<void>();
  }

  /** Until something has ended, or `ms` are over: meanwhile others may have come, or become due. */
  async waitForEnd(ms: number): Promise<void> {
    const timer = this.#clock.after(ms, () => this.noteEnd());
    await this.#ended.promise;
    timer.cancel();
  }
}
