import { HooklineError } from '../../core/errors.ts';
import type { Clock } from '../../runtime/clock.ts';
import { isLarger, TakenBytes } from './memory-shares.ts';
import { type BodyClass, UNPROVEN } from './open-bodies.ts';

/**
 * Memory that bodies share, counted in bytes: what does not fit waits, in the order of the tickets. A body that is larger
 * than the capacity is admitted when it is alone. The larger ones leave a part to the others, see {@link TakenBytes}.
 */
export class ByteSemaphore {
  readonly capacity: number;
  readonly #taken: TakenBytes;
  readonly #queue: AdmissionQueue<true>;

  constructor(capacity: number, clock: Clock) {
    this.capacity = capacity;
    this.#taken = new TakenBytes(capacity);
    this.#queue = new AdmissionQueue((bytes, passed) => this.#take(bytes, passed), clock);
  }

  /** Bytes that are taken. */
  get taken(): number {
    return this.#taken.all;
  }

  /** How many wait. */
  get waiting(): number {
    return this.#queue.length;
  }

  /** Whether so many bytes would be taken at once. */
  hasRoom(bytes: number): boolean {
    return this.waiting === 0 && this.#fits(bytes);
  }

  /** What is missing for those that wait: for the first ones, and for those that may pass a larger one. */
  lacks(now: number): Lack[] {
    return this.#queue.lacks(now, (bytes, passed) => this.#taken.freeFor(bytes, passed));
  }

  /** Takes bytes where they are free and nothing waits for them that they may not pass. */
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
    this.#taken.add(bytes);
  }

  /** Gives back what one body took, or at most 4 MiB that it took bit by bit. */
  release(bytes: number): void {
    this.#taken.add(-bytes);
    this.#queue.admitNext();
  }

  #fits(bytes: number, passed?: number): boolean {
    return this.taken === 0 || bytes <= this.#taken.freeFor(bytes, passed);
  }

  #take(bytes: number, passed: number | undefined): true | null {
    if (!this.#fits(bytes, passed)) return null;
    this.#taken.add(bytes);
    return true;
  }
}

/** What is missing for bodies that wait. */
export type Lack = {
  /** For all of them. */
  readonly bytes: number;
  readonly forFirst: number;
  /** Of the first one. */
  readonly class: BodyClass;
  /** The same where it has waited for long. */
  readonly stuckClass: BodyClass;
  /** For how long none of them was admitted. */
  readonly stuckMs: number;
  /** The length of a larger one that waits before them: they can have only what is left by it. */
  readonly passed?: number | undefined;
};

/** The order in which bodies have their turns: by `tag`, and of one tag by `n`. */
export type Ticket = { readonly tag: number; readonly n: number };

export const isBefore = (a: Ticket, b: Ticket): boolean => a.tag < b.tag || (a.tag === b.tag && a.n < b.n);

/** One that waits for bytes. */
export type Waiter = {
  readonly bytes: number;
  /** First come first served, where there is none. */
  readonly ticket: Ticket;
  readonly class: BodyClass;
  /** As which it counts where it has waited for long; unset means no other one. */
  readonly stuckClass?: BodyClass | undefined;
};

type Waiting<T> = Waiter & { readonly enter: (taken: T) => void; readonly refuse: () => void };

/** What has arrived of each already takes memory that is not counted: up to 200 KiB. */
const MAX_WAITING = 256;

/** Gives so many bytes, or null while there are not as many. `passed`: see {@link TakenBytes.freeFor}. */
type Take<T> = (bytes: number, passed?: number) => T | null;

/**
 * What waits for bytes, in the order of the tickets. Behind a larger one that is not admitted, others are admitted to what is
 * left to them: they would wait for as long as the larger ones arrive.
 */
export class AdmissionQueue<T> {
  readonly #take: Take<T>;
  readonly #waiting: Waiting<T>[] = [];
  #n = 0;
  /** When a larger one and when another was admitted last, or the first of them began to wait. */
  readonly #movedAt = { larger: 0, others: 0 };
  readonly #clock: Clock;

  constructor(take: Take<T>, clock: Clock) {
    this.#take = take;
    this.#clock = clock;
  }

  get length(): number {
    return this.#waiting.length;
  }

  /** @param freeFor bytes that are free for a body */
  lacks(now: number, freeFor: (bytes: number, passed?: number) => number): Lack[] {
    const { first, passing } = this.#heads();
    const lackOf = (one: Waiter, all: readonly Waiter[], passed?: number): Lack => {
      const free = freeFor(one.bytes, passed);
      const bytes = all.reduce((sum, each) => sum + each.bytes, 0) - free;
      const stuckMs = now - this.#movedAt[kindOf(one.bytes)];
      const { class: own, stuckClass = own } = one;
      return { bytes, forFirst: one.bytes - free, class: own, stuckClass, stuckMs, passed };
    };
    if (!first) return [];
    const lack = lackOf(first, this.#waiting);
    const others = this.#waiting.filter(({ bytes }) => !isLarger(bytes));
    return passing ? [lack, lackOf(passing, others, first.bytes)] : [lack];
  }

  /** What is free at once, where nothing waits for it; else null. */
  tryAcquire(bytes: number): T | null {
    if (this.#waiting.length === 0) return this.#take(bytes);
    const { first, passing } = this.#heads();
    const mayPass = first && isLarger(first.bytes) && !passing && !isLarger(bytes);
    return mayPass ? this.#take(bytes, first.bytes) : null;
  }

  /**
   * @param gone ends the wait with its reason, or because the sender has gone
   * @throws HooklineError NO_ROOM after `waitMs` or where too many wait, BODY_INCOMPLETE where `gone`
   */
  acquire(bytes: number, waitMs: number, gone?: AbortSignal, by: Partial<Waiter> = {}): Promise<T> {
    if (gone?.aborted) return Promise.reject(reasonOf(gone));
    const taken = this.tryAcquire(bytes);
    if (taken !== null) return Promise.resolve(taken);
    const kind = kindOf(bytes);
    if (this.#waiting.every((one) => kindOf(one.bytes) !== kind)) this.#movedAt[kind] = this.#clock.now();
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
      const { ticket = { tag: 0, n: this.#n++ }, class: own = UNPROVEN, stuckClass } = by;
      const one: Waiting<T> = { bytes, ticket, class: own, stuckClass, enter, refuse };
      gone?.addEventListener('abort', leave);
      this.#insert(one);
      // Those that wait may want more than there is, and this one, with its earlier ticket, less.
      this.admitNext();
    });
  }

  /** To be called when bytes were given back. */
  admitNext(): void {
    while (this.#waiting.length > 0) {
      const { first, passing } = this.#heads();
      if (this.#admit(first)) continue;
      if (!this.#admit(passing, first?.bytes)) return;
    }
  }

  /** The first one, and where that is a larger one, the first that may pass it. */
  #heads(): { readonly first: Waiting<T> | undefined; readonly passing: Waiting<T> | undefined } {
    const [first] = this.#waiting;
    const passing = first && isLarger(first.bytes) && this.#waiting.find(({ bytes }) => !isLarger(bytes));
    return { first, passing: passing || undefined };
  }

  #admit(one: Waiting<T> | undefined, passed?: number): boolean {
    const taken = one ? this.#take(one.bytes, passed) : null;
    if (!one || taken === null) return false;
    this.#movedAt[kindOf(one.bytes)] = this.#clock.now();
    one.enter(taken);
    return true;
  }

  #insert(one: Waiting<T>): void {
    const behind = this.#waiting.findIndex(({ ticket }) => isBefore(one.ticket, ticket));
    this.#waiting.splice(behind < 0 ? this.#waiting.length : behind, 0, one);
    if (this.#waiting.length > MAX_WAITING) this.#waiting.at(-1)?.refuse();
  }
}

const kindOf = (bytes: number): 'larger' | 'others' => (isLarger(bytes) ? 'larger' : 'others');

/** Why a wait was ended. */
export function reasonOf({ reason }: AbortSignal): HooklineError {
  return reason instanceof HooklineError ? reason : new HooklineError('BODY_INCOMPLETE');
}
