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
/** After a slow one that did not. */
const SLOW_ALONE_MS = 10_000;
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

/**
 * Whether a partition's next batch may share its request with those of other partitions. The broker answers when it has all
 * of them, so that the slowest holds up the rest: after a slow request all of its partitions go by themselves for a while, and one
 * that is slow by itself goes on so.
 */
export class Sharing {
  readonly #usual: UsualTime;
  readonly #clock: Clock;
  #apartUntil = Number.NEGATIVE_INFINITY;

  constructor(usual: UsualTime, clock: Clock) {
    this.#usual = usual;
    this.#clock = clock;
  }

  allows(bytes: number): boolean {
    return (
      bytes <= MAX_SHARED_BYTES && this.#usual.ms <= MAX_USUAL_MS && this.#clock.now() >= this.#apartUntil
    );
  }

  /** @param attempt.isSure false where nobody knows what became of it */
  note({ ms, isAlone, isSure }: { ms: number; isAlone: boolean; isSure: boolean }): void {
    const isSlow = !isSure || ms > Math.max(SLOW_MS, SLOWER * this.#usual.ms);
    if (isSure) this.#usual.note(ms);
    if (!isSlow) return;
    const apartMs = isAlone ? SLOW_ALONE_MS : Math.max(APART_MS, APART_TIMES * ms);
    this.#apartUntil = Math.max(this.#apartUntil, this.#clock.now() + apartMs);
  }
}
