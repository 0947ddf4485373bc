import { HooklineError } from '../../core/errors.ts';
import { type BodyClass, UNPROVED } from './open-bodies.ts';

/**
 * Memory that bodies share, counted in bytes: who finds no room waits, in the order of their places. A body that is larger
 * than all of the room gets in when it is alone.
 */
export class Room {
  readonly capacity: number;
  #taken = 0;
  readonly #line = new WaitingLine((bytes) => this.#take(bytes));

  constructor(capacity: number) {
    this.capacity = capacity;
  }

  /** Bytes that are taken. */
  get taken(): number {
    return this.#taken;
  }

  /** How many wait for room. */
  get waiting(): number {
    return this.#line.length;
  }

  /** The next one to get in. */
  get first(): Waiter | undefined {
    return this.#line.first;
  }

  /** Bytes that are missing for all who wait. */
  get missing(): number {
    return this.#taken + this.#line.bytes - this.capacity;
  }

  /** For how long nobody has got in, where somebody waits. */
  stuckMs(now: number): number {
    return this.#line.stuckMs(now);
  }

  /** Takes room where there is some at once, and nobody waits for it. */
  tryEnter(bytes: number): boolean {
    return this.#line.tryEnter(bytes) !== null;
  }

  /**
   * Takes room, when it is there. What was taken is given back by `leave`.
   * @param gone ends the wait: nobody is there any more
   * @throws HooklineError NO_ROOM after `waitMs` or where too many wait, BODY_INCOMPLETE where `gone`
   */
  async enter(bytes: number, waitMs: number, gone?: AbortSignal, by?: Partial<Waiter>): Promise<void> {
    await this.#line.enter(bytes, waitMs, gone, by);
  }

  /** Takes room, whether there is some or not. */
  add(bytes: number): void {
    this.#taken += bytes;
  }

  /** Gives room back. */
  leave(bytes: number): void {
    this.#taken -= bytes;
    this.#line.letIn();
  }

  #take(bytes: number): true | null {
    if (this.#taken > 0 && this.#taken + bytes > this.capacity) return null;
    this.#taken += bytes;
    return true;
  }
}

/** The order in which those who wait have their turns: by `tag`, and of one tag by `n`. */
export type Place = { readonly tag: number; readonly n: number };

export const isBefore = (a: Place, b: Place): boolean => a.tag < b.tag || (a.tag === b.tag && a.n < b.n);

/** One who waits for bytes. */
export type Waiter = {
  readonly bytes: number;
  /** First come first served, where there is none. */
  readonly place: Place;
  readonly class: BodyClass;
};

type Waiting<T> = Waiter & { readonly enter: (taken: T) => void; readonly refuse: () => void };

/** What has come of each of them already stands in memory that nobody counts: up to 200 KiB. */
const MOST_WAITING = 256;

/** Those who wait for bytes of something, in the order of their places. */
export class WaitingLine<T> {
  readonly #take: (bytes: number) => T | null;
  readonly #waiting: Waiting<T>[] = [];
  #n = 0;
  /** When somebody got something last, or the first one began to wait. */
  #movedAt = 0;

  /** @param take gives so many bytes, or null while there aren't as many */
  constructor(take: (bytes: number) => T | null) {
    this.#take = take;
  }

  get length(): number {
    return this.#waiting.length;
  }

  get first(): Waiter | undefined {
    return this.#waiting[0];
  }

  /** Bytes that all of them wait for. */
  get bytes(): number {
    return this.#waiting.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** For how long nobody has got anything. */
  stuckMs(now: number): number {
    return now - this.#movedAt;
  }

  /** What is there at once, where nobody waits for it; else null. */
  tryEnter(bytes: number): T | null {
    return this.#waiting.length > 0 ? null : this.#take(bytes);
  }

  /**
   * @param gone ends the wait with its reason, or because nobody is there any more
   * @throws HooklineError NO_ROOM after `waitMs` or where too many wait, BODY_INCOMPLETE where `gone`
   */
  enter(bytes: number, waitMs: number, gone?: AbortSignal, by: Partial<Waiter> = {}): Promise<T> {
    if (gone?.aborted) return Promise.reject(reasonOf(gone));
    const taken = this.tryEnter(bytes);
    if (taken !== null) return Promise.resolve(taken);
    if (this.#waiting.length === 0) this.#movedAt = performance.now();
    return new Promise((resolve, reject) => {
      const end = () => {
        clearTimeout(timer);
        gone?.removeEventListener('abort', leave);
        const at = this.#waiting.indexOf(one);
        if (at >= 0) this.#waiting.splice(at, 1);
      };
      const giveUp = (error: HooklineError) => {
        end();
        reject(error);
        // The one that gave up may have been the large one that smaller ones stood behind.
        this.letIn();
      };
      const leave = () => giveUp(reasonOf(gone as AbortSignal));
      const refuse = () => giveUp(new HooklineError('NO_ROOM'));
      const timer = Number.isFinite(waitMs) ? setTimeout(refuse, waitMs) : undefined;
      const enter = (value: T) => {
        end();
        resolve(value);
      };
      const place = by.place ?? { tag: 0, n: this.#n++ };
      const one: Waiting<T> = { bytes, place, class: by.class ?? UNPROVED, enter, refuse };
      gone?.addEventListener('abort', leave);
      this.#insert(one);
      // Those that wait may want more than there is, and this one, with its better place, less.
      if (this.#waiting[0] === one) this.letIn();
    });
  }

  /** To be called when some was given back. */
  letIn(): void {
    for (let one = this.#waiting[0]; one; one = this.#waiting[0]) {
      const taken = this.#take(one.bytes);
      if (taken === null) return;
      this.#movedAt = performance.now();
      one.enter(taken);
    }
  }

  #insert(one: Waiting<T>): void {
    const behind = this.#waiting.findIndex(({ place }) => isBefore(one.place, place));
    this.#waiting.splice(behind < 0 ? this.#waiting.length : behind, 0, one);
    if (this.#waiting.length > MOST_WAITING) this.#waiting.at(-1)?.refuse();
  }
}

/** Why a wait was ended. */
export function reasonOf({ reason }: AbortSignal): HooklineError {
  return reason instanceof HooklineError ? reason : new HooklineError('BODY_INCOMPLETE');
}
