import { HooklineError } from '../../core/errors.ts';
import type { Clock, Timer } from '../../runtime/clock.ts';
import { isLarger } from './memory-shares.ts';
import { type BodyClass, CANNOT_PASS, PROVEN, UNPROVEN } from './open-bodies.ts';

/** What is missing for bodies that wait. */
export type Lack = {
  /** For those of the class, and of better ones. */
  readonly bytes: number;
  readonly forFirst: number;
  readonly class: BodyClass;
  /** The same where the first of them has waited for long. */
  readonly stuckClass: BodyClass;
  /** For how long none of them was admitted; 0 where those of a better class come before them. */
  readonly stuckMs: number;
  /** The length of a larger one that waits before them: they can have only what is left by it. */
  readonly passed?: number | undefined;
};

/** One that waits for bytes. */
export type Waiter = {
  readonly class: BodyClass;
  /** As which it counts for its turn, and where it has waited for long; unset means as its class. */
  readonly stuckClass?: BodyClass | undefined;
  /** Its bytes, by its weight: less goes first. Unset means first come first served, less than 0 before all others. */
  readonly cost?: number | undefined;
};

/** The better class has its turn first, and in it the lower `tag`, of equal ones the lower `n`. */
type Order = { readonly turn: BodyClass; readonly tag: number; readonly n: number };

type Waiting<T> = Order & {
  readonly bytes: number;
  readonly class: BodyClass;
  readonly enter: (taken: T) => void;
  readonly refuse: () => void;
};

/** What has arrived of each already takes memory that is not counted: up to 200 KiB. */
const MAX_WAITING = 256;
/** Of as many bytes, one is for a worse class that waits: a sender that opens a connection for each webhook stays unproven. */
const BETTER_BYTES = 16;

/** Gives so many bytes, or null while there are not as many. `passed`: see `TakenBytes.freeFor`. */
type Take<T> = (bytes: number, passed?: number) => T | null;

const BEST_FIRST = [PROVEN, UNPROVEN, CANNOT_PASS] as const;

/** Two kinds have turns of their own: larger ones, and those that may pass them. */
type Kind = 'larger' | 'others';

const kindOf = (bytes: number): Kind => (isLarger(bytes) ? 'larger' : 'others');

/**
 * What waits for bytes: better classes first, and in a class by weighted fair queueing. So strangers, however many and small
 * their bodies are, do not stand before a sender that has proved itself, and a small body does not wait behind all of a flood of the
 * largest. Behind a larger one that is not admitted, others are admitted to what is left to them: they would wait for as
 * long as the larger ones arrive.
 */
export class AdmissionQueue<T> {
  readonly #take: Take<T>;
  readonly #waiting: Waiting<T>[] = [];
  #n = 0;
  /** How many bytes each that waits would have by now if all were given them side by side. */
  #fair = 0;
  /** Bytes that a worse class has earned by waiting while a better one was admitted. */
  readonly #owed: Record<Kind, number> = { larger: 0, others: 0 };
  /** When one of a kind and class was admitted last, or the first of them began to wait. */
  readonly #movedAt: Record<Kind, Record<BodyClass, number>> = {
    larger: { 0: 0, 1: 0, 2: 0 },
    others: { 0: 0, 1: 0, 2: 0 },
  };
  readonly #clock: Clock;

  constructor(take: Take<T>, clock: Clock) {
    this.#take = take;
    this.#clock = clock;
  }

  get length(): number {
    return this.#waiting.length;
  }

  /**
   * What is missing for each class that waits, the best one first; then the same for those that may pass a larger one. Each is
   * found when it is asked for, and so after what was done about the ones before.
   * @param freeFor bytes that are free for a body
   */
  *lacks(now: number, freeFor: (bytes: number, passed?: number) => number): Generator<Lack> {
    for (const one of BEST_FIRST) yield* this.#lackOf(one, now, freeFor);
    const passed = this.#heads().first?.bytes;
    if (passed === undefined || !isLarger(passed)) return;
    for (const one of BEST_FIRST) yield* this.#lackOf(one, now, freeFor, passed);
  }

  *#lackOf(
    of: BodyClass,
    now: number,
    freeFor: (bytes: number, passed?: number) => number,
    passed?: number,
  ): Generator<Lack> {
    const all = this.#waiting.filter(({ bytes }) => passed === undefined || !isLarger(bytes));
    const first = all.find((one) => one.class === of);
    if (!first) return;
    const free = freeFor(first.bytes, passed);
    const needed = all.reduce((sum, one) => sum + (one.class >= of ? one.bytes : 0), 0);
    const isNext = all.every(({ turn }) => turn <= first.turn);
    yield {
      bytes: needed - free,
      forFirst: first.bytes - free,
      class: of,
      stuckClass: first.turn,
      stuckMs: isNext ? now - this.#movedAt[kindOf(first.bytes)][first.turn] : 0,
      passed,
    };
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
    return new Promise((resolve, reject) => {
      let timer: Timer | undefined;
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
      const enter = (value: T) => {
        end();
        resolve(value);
      };
      const { class: own = UNPROVEN, stuckClass: turn = own, cost } = by;
      const tag = cost === undefined ? 0 : this.#fair + cost;
      const one: Waiting<T> = { bytes, class: own, turn, tag, n: this.#n++, enter, refuse };
      if (Number.isFinite(waitMs)) timer = this.#clock.after(waitMs, refuse);
      gone?.addEventListener('abort', leave);
      this.#insert(one);
      // Those that wait may want more than there is, and this one, before them, less.
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
    const first = this.#next(this.#waiting);
    if (!first || !isLarger(first.bytes)) return { first, passing: undefined };
    return { first, passing: this.#next(this.#waiting.filter(({ bytes }) => !isLarger(bytes))) };
  }

  /** @param all in their order */
  #next(all: readonly Waiting<T>[]): Waiting<T> | undefined {
    const [first] = all;
    const worse = all.find(({ turn }) => turn < (first as Waiting<T>).turn);
    return worse && this.#owed[kindOf(worse.bytes)] >= worse.bytes ? worse : first;
  }

  #admit(one: Waiting<T> | undefined, passed?: number): boolean {
    const taken = one ? this.#take(one.bytes, passed) : null;
    if (!one || taken === null) return false;
    this.#movedAt[kindOf(one.bytes)][one.turn] = this.#clock.now();
    this.#fair += one.bytes / this.#waiting.length;
    this.#settle(one);
    one.enter(taken);
    return true;
  }

  /** Counts what is owed to worse classes. */
  #settle({ bytes, turn }: Waiting<T>): void {
    const isWorse = this.#waiting.some((other) => other.turn > turn);
    if (isWorse) this.#owed[kindOf(bytes)] = Math.max(0, this.#owed[kindOf(bytes)] - bytes);
    else
      for (const kind of ['larger', 'others'] as const) {
        const isOwed = this.#waiting.some((other) => other.turn < turn && kindOf(other.bytes) === kind);
        this.#owed[kind] = isOwed ? this.#owed[kind] + bytes / BETTER_BYTES : 0;
      }
  }

  #insert(one: Waiting<T>): void {
    const isAlike = ({ bytes, turn }: Waiting<T>) => kindOf(bytes) === kindOf(one.bytes) && turn === one.turn;
    if (!this.#waiting.some(isAlike)) this.#movedAt[kindOf(one.bytes)][one.turn] = this.#clock.now();
    const behind = this.#waiting.findIndex((other) => isBefore(one, other));
    this.#waiting.splice(behind < 0 ? this.#waiting.length : behind, 0, one);
    if (this.#waiting.length > MAX_WAITING) this.#refuseOne();
  }

  /**
   * One of the worst class, by chance. Were it the last one, a crowd of small bodies would have all larger ones refused; were it
   * the newest, a crowd of large ones all small ones.
   */
  #refuseOne(): void {
    const worst = this.#waiting.at(-1)?.turn;
    const from = this.#waiting.findIndex(({ turn, tag }) => turn === worst && Number.isFinite(tag));
    const chosen = from + Math.floor(this.#clock.random() * (this.#waiting.length - from));
    this.#waiting[chosen]?.refuse();
  }
}

const isBefore = (a: Order, b: Order): boolean =>
  a.turn > b.turn || (a.turn === b.turn && (a.tag < b.tag || (a.tag === b.tag && a.n < b.n)));

/** Why a wait was ended. */
export function reasonOf({ reason }: AbortSignal): HooklineError {
  return reason instanceof HooklineError ? reason : new HooklineError('BODY_INCOMPLETE');
}
