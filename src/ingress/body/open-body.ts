import type { HooklineError } from '../../core/errors.ts';

/** Whose body it is: of a request that cannot pass, of one that is not proved yet, or on a proven connection. */
export type BodyClass = 0 | 1 | 2;
export const HOPELESS: BodyClass = 0;
export const UNPROVED: BodyClass = 1;
export const PROVEN: BodyClass = 2;

/** So long must we have been ready for bytes before a speed says anything. */
const LOOK_MS = 500;

const UNSEEN = { bytes: 0, readyMs: 0, speed: Number.POSITIVE_INFINITY };

/**
 * A body that is arriving and not verified: what it holds, and how fast it comes. Only time in which we were ready to
 * read counts: a sender that waits for us is not slow.
 */
export class OpenBody {
  class: BodyClass = UNPROVED;
  /** Arrived so far. */
  bytes = 0;
  /** Bytes of memory for arriving bodies that it holds, and how many of them it has not used yet. */
  charged = 0;
  reserved = 0;
  /** Bytes of memory for large bodies that it holds. */
  large = 0;
  /** All of it has arrived, and it waits for its key. */
  isWhole = false;
  /** It was ended for others, and gives its memory back. */
  isEnded = false;
  /** Of the same connection, begun before it: an earlier request of its pipeline. */
  earlier: OpenBody | null = null;
  /** Ends it: what it holds is given back, its request is answered with the error. */
  end: (error: HooklineError) => void = () => {};

  #readyMs = 0;
  /** Undefined until the first look at it, so that one that is there at once costs nothing; null while it waits for us. */
  #readySince: number | null | undefined;
  /** Of the last look that had LOOK_MS to look at. */
  #seen = UNSEEN;

  /** It is not read for now. */
  pause(now: number): void {
    this.#readyMs = this.readyMs(now);
    this.#readySince = null;
  }

  /** It is read, now or again. */
  resume(now: number): void {
    if (typeof this.#readySince !== 'number') this.#readySince = now;
  }

  get isPaused(): boolean {
    return this.#readySince === null;
  }

  /** How long we have been ready to read it. */
  readyMs(now: number): number {
    return this.#readyMs + (typeof this.#readySince === 'number' ? now - this.#readySince : 0);
  }

  /** Bytes per second over all of that time. */
  averageSpeed(now: number): number {
    return (this.bytes / this.readyMs(now)) * 1_000;
  }

  /** Bytes per second since the last look; that of the look before while there is too little to look at. */
  speed(now: number): number {
    const { bytes, readyMs, speed } = this.#seen;
    const ms = this.readyMs(now) - readyMs;
    return ms < LOOK_MS ? speed : ((this.bytes - bytes) / ms) * 1_000;
  }

  /** To be called about once a second. */
  look(now: number): void {
    if (this.#readySince === undefined) this.#readySince = now;
    const readyMs = this.readyMs(now);
    if (readyMs - this.#seen.readyMs >= LOOK_MS)
      this.#seen = { bytes: this.bytes, readyMs, speed: this.speed(now) };
  }
}
