import { HooklineError } from '../../core/errors.ts';
import type { Clock, Timer } from '../../runtime/clock.ts';
import type { Lack } from './admission-queue.ts';
import { ArrivingMemory } from './arriving-memory.ts';
import { BodyArena } from './body-arena.ts';
import { ByteSemaphore } from './byte-semaphore.ts';
import { isLarger, type MemoryShares, WORK_FACTOR } from './memory-shares.ts';
import { type BodyClass, chooseVictims, OpenBodies, type OpenBody, PROVEN, UNPROVEN } from './open-bodies.ts';
import { type Pace, Throttle, type Ticket } from './throttle.ts';

export type BodyMemoryOptions = MemoryShares & {
  /** How long a body waits for memory, at the most. */
  readonly admissionWaitMs: number;
  /** What is read of large bodies; a test may give another. */
  readonly pace?: Pace;
  readonly clock: Clock;
};

const KIB = 1024;
/** Bytes per second below which a body holds memory for too long: a large one would not arrive whole in time. */
const SLOW = { arriving: 64 * KIB, large: 512 * KIB };
/** What a body has of a memory, and below which speed it has it for too long. */
type Holding = { readonly held: (body: OpenBody) => number; readonly slow: number };
const ARRIVING: Holding = { held: ({ charged }) => charged, slow: SLOW.arriving };
const LARGE: Holding = { held: ({ large }) => large, slow: SLOW.large };
const PIECES: Holding = { held: ({ piece }) => piece, slow: SLOW.large };
/** How often waiting bodies are checked against slow ones that hold memory, and when a worse class gives way. */
const CHECK_MS = 250;
const STUCK_MS = 3_000;

/**
 * Beside small webhooks, a rate that delays them little (`make bench-large` measures how much); alone, what turns of the event
 * loop let through.
 */
const PACE: Pace = { beside: 44 * KIB ** 2, alone: 1_024 * KIB ** 2 };

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
  /** Bytes of bodies that are worked on at once, beside what is here. */
  readonly atWork: number;
  readonly #waitMs: number;
  readonly #arena: BodyArena;
  readonly #clock: Clock;
  /** How many were ended for others since they were asked for, by their class. */
  readonly #evicted: Record<BodyClass, number> = { 0: 0, 1: 0, 2: 0 };
  #timer: Timer | undefined;
  #nextCheckAt = 0;

  constructor({ small, large, read, atWork, admissionWaitMs, pace = PACE, clock }: BodyMemoryOptions) {
    this.atWork = atWork;
    this.arriving = new ArrivingMemory(Math.floor(small / 2), clock);
    this.stored = new ByteSemaphore(Math.ceil(small / 2), clock);
    this.large = new ByteSemaphore(large, clock);
    this.#arena = new BodyArena(read, clock);
    this.throttle = new Throttle(pace, clock);
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

  /** Bodies that wait for memory. */
  waiting(bodies: 'small' | 'large'): number {
    return bodies === 'small' ? this.small.waiting : this.large.waiting + this.#arena.waiting;
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
    const lack = { bytes: this.arriving.bytes.capacity / 8, class: body.class };
    this.#evict(ARRIVING, lack, now);
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
    const entered = this.large.acquire(bytes, this.#waitMs, gone, { cost: ticket.cost, class: body.class });
    this.#watchQueues();
    await entered;
    body.large = bytes;
  }

  /** Whether no small bodies come: then large ones may have all of the machine. */
  isQuiet = (): boolean => this.throttle.isQuiet(this.#clock.now());

  /**
   * Takes memory of bodies that wait to be read, for working on one more of those that have arrived. Gives what gives it back;
   * null where it would be too much of it, is not free, or bodies wait for it: none is ended for this.
   */
  borrowWork(): (() => void) | null {
    const bytes = WORK_FACTOR * this.atWork;
    if (bytes > this.large.capacity / 2 || !this.large.tryAcquire(bytes)) return null;
    return () => this.large.release(bytes);
  }

  /** The same for a body of the spool, of so many bytes: waits for it, before bodies that come from outside. */
  async awaitWork(bytes: number): Promise<() => void> {
    const all = WORK_FACTOR * bytes;
    // Slow bodies of proven senders are not ended for it.
    const by = { cost: Number.NEGATIVE_INFINITY, class: UNPROVEN, stuckClass: PROVEN };
    const entered = this.large.acquire(all, Number.POSITIVE_INFINITY, undefined, by);
    this.#watchQueues();
    await entered;
    return () => this.large.release(all);
  }

  /** Gives back what `acquireLarge` gave. */
  releaseLarge(body: OpenBody): void {
    const bytes = body.large;
    body.large = 0;
    body.piece = 0;
    if (bytes > 0) this.large.release(bytes);
  }

  /**
   * A large body's piece of memory, when it is its turn to be read: bodies that are read one after the other are written
   * to the same few pages. Waits on where others have all of it. `giveBack` takes it.
   * @throws HooklineError NO_ROOM where too many wait, or the reason of `gone`
   */
  async pieceFor(body: OpenBody, ticket: Ticket, gone: AbortSignal): Promise<Buffer> {
    await this.throttle.firstTurn(ticket, gone);
    // It was let in: it waits for those before it, for as long as these arrive.
    const entered = this.#arena.acquire(body.large, gone, { cost: ticket.cost, class: body.class });
    this.#watchQueues();
    const piece = await entered;
    body.piece = piece.length;
    return piece;
  }

  giveBack(into: Buffer): void {
    this.#arena.release(into);
  }

  /** While something waits: ends slow bodies that hold what the first ones need. */
  check(): void {
    const now = this.#clock.now();
    for (const lack of this.arriving.bytes.lacks(now)) this.#relieve(ARRIVING, lack, now, 'same');
    // Of large ones a fast body of the same class goes on: it will arrive whole, and what has arrived of it is not wasted.
    for (const lack of this.large.lacks(now)) this.#relieve(LARGE, lack, now, 'worse');
    // Those that were admitted are more than can be in memory, or what is free of it is in pieces that are too small.
    for (const lack of this.#arena.lacks(now)) this.#relieve(PIECES, lack, now, 'worse');
  }

  #relieve(of: Holding, lack: Lack, now: number, whenStuck: 'worse' | 'same'): void {
    if (this.#evict(of, lack, now) > 0 || lack.stuckMs < STUCK_MS) return;
    // All that are left are fast: no more of them than the first one needs.
    this.#evict(of, { ...lack, bytes: lack.forFirst, class: lack.stuckClass }, now, whenStuck);
  }

  #evict(
    { held, slow }: Holding,
    lack: Pick<Lack, 'bytes' | 'class' | 'passed'>,
    now: number,
    fastToo: 'none' | 'worse' | 'same' = 'none',
  ): number {
    // What a larger one has is for the one that is passed.
    const heldBy = (body: OpenBody) => (lack.passed !== undefined && isLarger(held(body)) ? 0 : held(body));
    const victims = chooseVictims(this.open, { ...lack, heldBy, slow, fastToo, now });
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
    return this.arriving.bytes.waiting + this.waiting('large') > 0;
  }
}
