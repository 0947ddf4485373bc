import { LARGE_BODY_BYTES } from '../../core/delivery.ts';
import { HooklineError } from '../../core/errors.ts';
import type { Clock, Timer } from '../../runtime/clock.ts';
import { BodyArena } from './body-arena.ts';
import { ByteSemaphore, type Ticket } from './byte-semaphore.ts';
import type { MemoryShares } from './memory-shares.ts';
import { type BodyClass, chooseVictims, OpenBodies, type OpenBody, PROVEN } from './open-bodies.ts';
import { Throttle } from './throttle.ts';

export type BodyMemoryOptions = Pick<MemoryShares, 'small' | 'large'> & {
  /** How long a body waits for memory, at the most. */
  readonly admissionWaitMs: number;
  /** What is read of large bodies, all together. */
  readonly bytesPerSecond: number;
  readonly clock: Clock;
};

const KIB = 1024;
/** Bytes per second below which a body holds memory for too long: a large one would not arrive whole in time. */
const SLOW = { arriving: 64 * KIB, large: 512 * KIB };
/** How often waiting bodies are checked against slow ones that hold memory, and when a worse class gives way. */
const CHECK_MS = 250;
const STUCK_MS = 3_000;

/** The memory that bodies have, small ones and large ones apart, so that no small one waits behind a large one. */
export class BodyMemory {
  /** Of bodies that arrive, up to 1 MiB of each. */
  readonly arriving: ArrivingMemory;
  /** Of small ones that are verified and being stored. */
  readonly stored: ByteSemaphore;
  /** Of large ones that were admitted; most of them wait for their turn to be read, and cost nothing yet. */
  readonly large: ByteSemaphore;
  readonly open: OpenBodies;
  readonly throttle: Throttle;
  readonly #waitMs: number;
  readonly #arena: BodyArena;
  readonly #clock: Clock;
  /** How many were ended for others since they were asked for, by their class. */
  readonly #evicted: Record<BodyClass, number> = { 0: 0, 1: 0, 2: 0 };
  #timer: Timer | undefined;
  #nextCheckAt = 0;

  constructor({ small, large, admissionWaitMs, bytesPerSecond, clock }: BodyMemoryOptions) {
    this.arriving = new ArrivingMemory(Math.floor(small / 2), clock);
    this.stored = new ByteSemaphore(Math.ceil(small / 2), clock);
    this.large = new ByteSemaphore(large, clock);
    this.#arena = new BodyArena(large, clock);
    this.throttle = new Throttle(bytesPerSecond, clock);
    this.#waitMs = admissionWaitMs;
    this.#clock = clock;
    this.open = new OpenBodies(clock);
  }

  /** Of small bodies, arriving and being stored. */
  get small(): { readonly taken: number; readonly waiting: number } {
    const semaphores = [this.arriving.bytes, this.stored];
    return {
      taken: semaphores.reduce((sum, { taken }) => sum + taken, 0),
      waiting: semaphores.reduce((sum, { waiting }) => sum + waiting, 0),
    };
  }

  /** How many bodies of a class were ended for others since the last call. */
  takeEvicted(of: BodyClass): number {
    const count = this.#evicted[of];
    this.#evicted[of] = 0;
    return count;
  }

  now(): number {
    return this.#clock.now();
  }

  /** Charges a body for bytes that have arrived, slow ones giving way. False: it has to wait, with `reserve`. */
  charge(body: OpenBody, bytes: number): boolean {
    if (this.arriving.charge(body, bytes)) return true;
    const now = this.#clock.now();
    if (now < this.#nextCheckAt) return false;
    this.#evict(this.arriving.bytes, { bytes: this.arriving.bytes.capacity / 8, class: body.class }, now);
    const isFree = this.arriving.charge(body, bytes);
    // All that hold it are fast: not checked again for each chunk.
    if (!isFree) this.#nextCheckAt = now + CHECK_MS / 2;
    return isFree;
  }

  /** Whether the body comes so slowly that it does not wait for memory where there is none: others come sooner. */
  isSlow(body: OpenBody): boolean {
    return body.speed(this.#clock.now()) < SLOW.arriving;
  }

  /** Waits for memory for all that the body may still need. @throws HooklineError NO_ROOM, or the reason of `gone` */
  async reserve(body: OpenBody, bytes: number, gone: AbortSignal): Promise<void> {
    const entered = this.arriving.reserve(body, bytes, this.#waitMs, gone);
    this.#watchQueues();
    await entered;
  }

  /** Waits for memory for a small body that is verified. @throws HooklineError NO_ROOM */
  acquireStored(bytes: number): Promise<void> {
    return this.stored.acquire(bytes, this.#waitMs);
  }

  /** Lets a large body in: there will be memory for it. @throws HooklineError NO_ROOM, or the reason of `gone` */
  async acquireLarge(body: OpenBody, bytes: number, ticket: Ticket, gone: AbortSignal): Promise<void> {
    const entered = this.large.acquire(bytes, this.#waitMs, gone, { ticket, class: body.class });
    this.#watchQueues();
    await entered;
    body.large = bytes;
  }

  /** Gives back what `acquireLarge` gave. */
  releaseLarge(body: OpenBody): void {
    const bytes = body.large;
    body.large = 0;
    if (bytes > 0) this.large.release(bytes);
  }

  /**
   * A large body's piece of memory, when it is its turn to be read: bodies that are read one after the other are written
   * to the same few pages. Waits on where what is free is in pieces that are too small. `giveBack` takes it.
   * @throws HooklineError the reason of `gone`
   */
  async pieceFor(body: OpenBody, ticket: Ticket, gone: AbortSignal): Promise<Buffer> {
    await this.throttle.firstTurn(ticket, gone);
    const piece = this.#arena.acquire(body.large, gone, { ticket, class: body.class });
    this.#watchQueues();
    return piece;
  }

  giveBack(into: Buffer): void {
    this.#arena.release(into);
  }

  /** While something waits: ends slow bodies that hold what the first one needs. */
  check(): void {
    const now = this.#clock.now();
    this.#relieve(this.arriving.bytes, now, 'same');
    // Of large ones a fast body of the same class goes on: it will arrive whole, and what has arrived of it is not wasted.
    this.#relieve(this.large, now, 'worse');
    // There are as many bytes, but in pieces that are too small.
    const waiter = this.#arena.first;
    if (waiter) this.#evict(this.large, waiter, now);
  }

  #relieve(semaphore: ByteSemaphore, now: number, whenStuck: 'worse' | 'same'): void {
    const waiter = semaphore.first;
    if (!waiter) return;
    const evicted = this.#evict(semaphore, { bytes: semaphore.missing, class: waiter.class }, now);
    if (evicted > 0 || semaphore.stuckMs(now) < STUCK_MS) return;
    // All that are left are fast: no more of them than the first one needs.
    const bytes = semaphore.taken + waiter.bytes - semaphore.capacity;
    this.#evict(semaphore, { bytes, class: waiter.class }, now, whenStuck);
  }

  #evict(
    semaphore: ByteSemaphore,
    lacking: { readonly bytes: number; readonly class: BodyClass },
    now: number,
    fastToo: 'none' | 'worse' | 'same' = 'none',
  ): number {
    const isLarge = semaphore === this.large;
    const heldBy = (body: OpenBody) => (isLarge ? body.large : body.charged);
    const slow = isLarge ? SLOW.large : SLOW.arriving;
    const victims = chooseVictims(this.open, { ...lacking, heldBy, slow, fastToo, now });
    for (const body of victims) {
      this.#evicted[body.class]++;
      body.isEnded = true;
      body.end(new HooklineError('NO_ROOM'));
    }
    return victims.length;
  }

  #watchQueues(): void {
    if (this.#timer || !this.#isWaitedFor()) return;
    this.check();
    this.#timer = this.#clock.every(
      CHECK_MS,
      () => {
        this.check();
        if (this.#isWaitedFor()) return;
        this.#timer?.cancel();
        this.#timer = undefined;
      },
      { ref: false },
    );
  }

  #isWaitedFor(): boolean {
    return this.arriving.bytes.waiting + this.large.waiting > 0 || this.#arena.first !== undefined;
  }
}

/**
 * The memory that bodies hold while they are not verified: charged as they arrive, for what has arrived. Half of it is
 * given at once, so that no body waits behind one that was only announced. A body that needs more when that half is taken waits
 * until all that may still arrive fits into the other half: so those that have begun there also arrive whole.
 */
class ArrivingMemory {
  readonly bytes: ByteSemaphore;
  #n = 0;

  /** At least what one of the largest small bodies needs, twice. */
  constructor(bytes: number, clock: Clock) {
    this.bytes = new ByteSemaphore(Math.max(bytes, 2 * LARGE_BODY_BYTES), clock);
  }

  /** Charges a body for bytes that have arrived. False: it has to wait, with `reserve`. */
  charge(body: OpenBody, bytes: number): boolean {
    if (body.reserved >= bytes) {
      body.reserved -= bytes;
      return true;
    }
    const { taken, capacity } = this.bytes;
    if (taken + bytes > capacity / 2 || !this.bytes.tryAcquire(bytes)) return false;
    body.charged += bytes;
    return true;
  }

  /** Charges a body that will wait elsewhere, whether there is memory or not. */
  addUnchecked(body: OpenBody, bytes: number): void {
    if (this.charge(body, bytes)) return;
    this.bytes.addUnchecked(bytes);
    body.charged += bytes;
  }

  /**
   * Waits for all that the body may still need, proven ones first.
   * @throws HooklineError NO_ROOM, and the reason of `gone`
   */
  async reserve(body: OpenBody, bytes: number, waitMs: number, gone: AbortSignal): Promise<void> {
    const ticket = { tag: body.class === PROVEN ? 0 : 1, n: this.#n++ };
    await this.bytes.acquire(bytes, waitMs, gone, { ticket, class: body.class });
    body.charged += bytes;
    body.reserved += bytes;
  }

  /** Gives back all that the body holds. */
  release(body: OpenBody): void {
    if (body.charged > 0) this.bytes.release(body.charged);
    body.charged = 0;
    body.reserved = 0;
  }
}
