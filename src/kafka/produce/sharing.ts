import type { Clock } from '../../runtime/clock.ts';

/** Of a batch that shares its request. */
const MAX_SHARED_BYTES = 65_536;
/** A batch counts as slow when it takes longer than this, and than so many times the usual. */
const SLOW_MS = 50;
const SLOWER = 8;
/** Where batches usually take longer they share nothing: they are large anyway, and the brokers give a shared request less time. */
const MAX_USUAL_MS = 100;
/** After a slow batch that shared its request: at least this long, and so many times what it took. Then it shows whose fault it was. */
const APART_MS = 200;
const APART_TIMES = 4;
/** After slow ones that did not. */
const SLOW_ALONE_MS = 10_000;
/**
 * So long slow ones must have taken, less this share of the time that passes: on a busy machine one or the other is slow, whatever
 * partition it is for. How many in a row says less: a partition that is slow most of the time has quick ones in between.
 */
const SLOW_SUM_MS = 400;
const FORGIVEN = 0.2;
/** The usual follows the median: each batch moves it by this. */
const STEP = 1.05;

/** What batches of all partitions usually take, from the first attempt to the confirmation. */
export class UsualTime {
  #ms = 5;

  get ms(): number {
    return this.#ms;
  }

  note(ms: number): void {
    const next = ms > this.#ms ? this.#ms * STEP : this.#ms / STEP;
    this.#ms = Math.min(Math.max(next, 1), 3_000);
  }
}

/** Fewer records under way than this are waited for by nobody: their request says little of what the brokers have to do. */
const FEW_RECORDS = 16;

/**
 * Batches that share requests begin together. By themselves the queues fall out of step with the first slow answer, and each
 * then has a request of its own, of a fraction of the records: many times as much work, here and for the brokers. So a batch that
 * would begin while others are under way begins with the next ones, or when their usual time is over.
 */
export class Waves {
  readonly usual = new UsualTime();
  readonly #clock: Clock;
  #records = 0;
  /** Something has begun in this tick: what begins too, shares its request. */
  #isBeginning = false;
  #next: Promise<void> | undefined;
  #end = () => {};

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves when a batch that shares its request may be taken. */
  async next(): Promise<void> {
    if (this.#isBeginning || this.#records < FEW_RECORDS) return;
    this.#next ??= this.#wait();
    await this.#next;
  }

  /** So many records are on their way. @returns to be called when they have ended */
  begin(records: number): () => void {
    this.#records += records;
    if (!this.#isBeginning) {
      this.#isBeginning = true;
      void this.#clock.tick().then(() => {
        this.#isBeginning = false;
      });
    }
    return () => {
      this.#records -= records;
      if (this.#records < FEW_RECORDS) this.#end();
    };
  }

  async #wait(): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = this.#clock.after(this.usual.ms, resolve);
      this.#end = () => {
        timer.cancel();
        resolve();
      };
    });
    this.#next = undefined;
    // As those do whose batch has just ended.
    await this.#clock.turn();
    await this.#clock.tick();
  }
}

/**
 * Whether a partition's next batch may share its request with those of other partitions. The broker answers when it has all
 * of them, so that the slowest holds up the rest: after slow requests all of their partitions go by themselves for a while, and one
 * that is slow by itself goes on so.
 */
export class Sharing {
  readonly #waves: Waves;
  readonly #clock: Clock;
  #apartUntil = Number.NEGATIVE_INFINITY;
  #slowMs = 0;
  #slowAt = 0;

  constructor(waves: Waves, clock: Clock) {
    this.#waves = waves;
    this.#clock = clock;
  }

  allows(bytes: number): boolean {
    return (
      bytes <= MAX_SHARED_BYTES &&
      this.#waves.usual.ms <= MAX_USUAL_MS &&
      this.#clock.now() >= this.#apartUntil
    );
  }

  /** Resolves when the next batch may be taken. */
  async next(): Promise<void> {
    if (this.allows(0)) await this.#waves.next();
  }

  /**
   * An attempt begins.
   * @returns to be called with its end: whether it is sure what became of it, undefined where it says nothing of the time
   */
  begin({ records, isAlone }: { records: number; isAlone: boolean }): (isSure?: boolean) => void {
    const began = this.#clock.now();
    const end = isAlone ? undefined : this.#waves.begin(records);
    return (isSure) => {
      end?.();
      if (isSure !== undefined) this.#note({ ms: this.#clock.now() - began, isAlone, isSure });
    };
  }

  #note({ ms, isAlone, isSure }: { ms: number; isAlone: boolean; isSure: boolean }): void {
    const { usual } = this.#waves;
    const isSlow = !isSure || ms > Math.max(SLOW_MS, SLOWER * usual.ms);
    if (isSure) usual.note(ms);
    if (!isSlow) return;
    const now = this.#clock.now();
    this.#slowMs = Math.max(0, this.#slowMs - FORGIVEN * (now - this.#slowAt)) + ms;
    this.#slowAt = now;
    if (isSure && this.#slowMs < SLOW_SUM_MS) return;
    // One more may be chance, some are not.
    this.#slowMs = SLOW_SUM_MS / 2;
    const apartMs = isAlone ? SLOW_ALONE_MS : Math.max(APART_MS, APART_TIMES * ms);
    this.#apartUntil = Math.max(this.#apartUntil, now + apartMs);
  }
}
