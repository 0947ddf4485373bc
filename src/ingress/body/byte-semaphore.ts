import type { Clock } from '../../runtime/clock.ts';
import { AdmissionQueue, type Lack, type Waiter } from './admission-queue.ts';
import { TakenBytes } from './memory-shares.ts';

/**
 * Memory that bodies share, counted in bytes: what does not fit waits, see {@link AdmissionQueue}. A body that is larger
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

  /** What is missing for those that wait, see {@link AdmissionQueue.lacks}. */
  lacks(now: number): Iterable<Lack> {
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
