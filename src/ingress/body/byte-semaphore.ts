import { HooklineError } from '../../core/errors.ts';
import type { Clock } from '../../runtime/clock.ts';
import { shareOf } from './memory-shares.ts';
import { type BodyClass, UNPROVEN } from './open-bodies.ts';

/**
 * Memory that bodies share, counted in bytes: what does not fit waits, in the order of the tickets. A body that is larger
 * than the capacity is admitted when it is alone. The larger ones leave a part to the others, see {@link shareOf}.
 */
export class ByteSemaphore {
  readonly capacity: number;
  #taken = 0;
  readonly #queue: AdmissionQueue<true>;

  constructor(capacity: number, clock: Clock) {
    this.capacity = capacity;
    this.#queue = new AdmissionQueue((bytes) => this.#take(bytes), clock);
  }

  /** Bytes that are taken. */
  get taken(): number {
    return this.#taken;
  }

  /** How many wait. */
  get waiting(): number {
    return this.#queue.length;
  }

  /** The next one to be admitted. */
  get first(): Waiter | undefined {
    return this.#queue.first;
  }

  /** Bytes that are missing for all that wait, of what the first of them may use. */
  get missing(): number {
    return this.#missingFor(this.#queue.bytes);
  }

  /** Bytes that are missing for the first one. */
  get missingForFirst(): number {
    return this.#missingFor(this.first?.bytes ?? 0);
  }

  /** For how long nothing was admitted, where something waits. */
  stuckMs(now: number): number {
    return this.#queue.stuckMs(now);
  }

  /** Takes bytes where they are free and nothing waits for them. */
  tryAcquire(bytes: number): boolean {
    return this.#queue.tryAcquire(bytes) !== null;
  }

  /**
   * Takes bytes, when they are free. `release` gives them back.
   * @param gone ends the wait: the sender has gone
   * @throws HooklineError NO_ROOM after `waitMs` or where too many wait, BODY_INCOMPLETE where `gone`
   */
  async acquire(bytes: number, waitMs: number, gone?: AbortSignal, by?: Partial<Waiter>): Promise<void> {
    await this.#queue.acquire(bytes, waitMs, gone, by);
  }

  /** Takes bytes, whether they are free or not. */
  addUnchecked(bytes: number): void {
    this.#taken += bytes;
  }

  /** Gives bytes back. */
  release(bytes: number): void {
    this.#taken -= bytes;
    this.#queue.admitNext();
  }

  #missingFor(bytes: number): number {
    return this.#taken + bytes - shareOf(this.capacity, this.first?.bytes ?? 0);
  }

  #take(bytes: number): true | null {
    if (this.#taken > 0 && this.#taken + bytes > shareOf(this.capacity, bytes)) return null;
    this.#taken += bytes;
    return true;
  }
}

/** The order in which bodies have their turns: by `tag`, and of one tag by `n`. */
export type Ticket = { readonly tag: number; readonly n: number };

export const isBefore = (a: Ticket, b: Ticket): boolean => a.tag < b.tag || (a.tag === b.tag && a.n < b.n);

/** One that waits for bytes. */
export type Waiter = {
  readonly bytes: number;
  /** First come first served, where there is none. */
  readonly ticket: Ticket;
  readonly class: BodyClass;
};

type Waiting<T> = Waiter & { readonly enter: (taken: T) => void; readonly refuse: () => void };

/** What has arrived of each already takes memory that is not counted: up to 200 KiB. */
const MAX_WAITING = 256;

/** What waits for bytes, in the order of the tickets. */
export class AdmissionQueue<T> {
  readonly #take: (bytes: number) => T | null;
  readonly #waiting: Waiting<T>[] = [];
  #n = 0;
  /** When something was admitted last, or the first one began to wait. */
  #movedAt = 0;

  readonly #clock: Clock;

  /** @param take gives so many bytes, or null while there are not as many */
  constructor(take: (bytes: number) => T | null, clock: Clock) {
    this.#take = take;
    this.#clock = clock;
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

  /** For how long nothing was admitted. */
  stuckMs(now: number): number {
    return now - this.#movedAt;
  }

  /** What is free at once, where nothing waits for it; else null. */
  tryAcquire(bytes: number): T | null {
    return this.#waiting.length > 0 ? null : this.#take(bytes);
  }

  /**
   * @param gone ends the wait with its reason, or because the sender has gone
   * @throws HooklineError NO_ROOM after `waitMs` or where too many wait, BODY_INCOMPLETE where `gone`
   */
  acquire(bytes: number, waitMs: number, gone?: AbortSignal, by: Partial<Waiter> = {}): Promise<T> {
    if (gone?.aborted) return Promise.reject(reasonOf(gone));
    const taken = this.tryAcquire(bytes);
    if (taken !== null) return Promise.resolve(taken);
    if (this.#waiting.length === 0) this.#movedAt = this.#clock.now();
    return new Promise((resolve, reject) => {
      const end = () => {
        timer?.cancel();
        gone?.removeEventListener('abort', leave);
        const at = this.#waiting.indexOf(one);
        if (at >= 0) this.#waiting.splice(at, 1);
      };
      const giveUp = (error: HooklineError) => {
        end();
        reject(error);
        // The one that gave up may have been the large one that smaller ones stood behind.
        this.admitNext();
      };
      const leave = () => giveUp(reasonOf(gone as AbortSignal));
      const refuse = () => giveUp(new HooklineError('NO_ROOM'));
      const timer = Number.isFinite(waitMs) ? this.#clock.after(waitMs, refuse) : undefined;
      const enter = (value: T) => {
        end();
        resolve(value);
      };
      const ticket = by.ticket ?? { tag: 0, n: this.#n++ };
      const one: Waiting<T> = { bytes, ticket, class: by.class ?? UNPROVEN, enter, refuse };
      gone?.addEventListener('abort', leave);
      this.#insert(one);
      // Those that wait may want more than there is, and this one, with its earlier ticket, less.
      if (this.#waiting[0] === one) this.admitNext();
    });
  }

  /** To be called when bytes were given back. */
  admitNext(): void {
    for (let one = this.#waiting[0]; one; one = this.#waiting[0]) {
      const taken = this.#take(one.bytes);
      if (taken === null) return;
      this.#movedAt = this.#clock.now();
      one.enter(taken);
    }
  }

  #insert(one: Waiting<T>): void {
    const behind = this.#waiting.findIndex(({ ticket }) => isBefore(one.ticket, ticket));
    this.#waiting.splice(behind < 0 ? this.#waiting.length : behind, 0, one);
    if (this.#waiting.length > MAX_WAITING) this.#waiting.at(-1)?.refuse();
  }
}

/** Why a wait was ended. */
export function reasonOf({ reason }: AbortSignal): HooklineError {
  return reason instanceof HooklineError ? reason : new HooklineError('BODY_INCOMPLETE');
}
