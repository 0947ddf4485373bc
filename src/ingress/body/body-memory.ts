import { LARGE_BODY_BYTES } from '../../core/delivery.ts';
import { HooklineError } from '../../core/errors.ts';
import { BodyArena } from './body-arena.ts';
import { type Place, Room } from './byte-semaphore.ts';
import type { MemoryShares } from './memory-shares.ts';
import { type BodyClass, chooseVictims, OpenBodies, type OpenBody, PROVEN } from './open-bodies.ts';
import { Pacer } from './throttle.ts';

export type BodyMemoryOptions = Pick<MemoryShares, 'small' | 'large'> & {
  /** How long a body waits for room, at the most. */
  readonly admissionWaitMs: number;
  /** What is read of large bodies, all together. */
  readonly bytesPerSecond: number;
  readonly now?: () => number;
};

const KIB = 1024;
/** Bytes per second below which a body holds memory for too long: a large one would not come to its end in time. */
const SLOW = { arriving: 64 * KIB, large: 512 * KIB };
/** How often it is looked whether somebody waits for what a slow one holds, and when a worse class gives way. */
const LOOK_MS = 250;
const STUCK_MS = 3_000;

/** The memory that bodies have, small ones and large ones apart, so that no small one waits behind a large one. */
export class BodyMemory {
  /** Of bodies that arrive, up to 1 MiB of each. */
  readonly arriving: ArrivingMemory;
  /** Of small ones that are verified and being stored. */
  readonly stored: Room;
  /** Of large ones that were let in; most of them wait for their turn to be read, and cost nothing yet. */
  readonly large: Room;
  readonly open: OpenBodies;
  readonly pacer: Pacer;
  readonly #waitMs: number;
  readonly #arena: BodyArena;
  readonly #now: () => number;
  /** How many were ended for others since they were asked for, by their class. */
  readonly #evicted: Record<BodyClass, number> = { 0: 0, 1: 0, 2: 0 };
  #looking: NodeJS.Timeout | undefined;
  #nextLookAt = 0;

  constructor({ small, large, admissionWaitMs, bytesPerSecond, now }: BodyMemoryOptions) {
    this.arriving = new ArrivingMemory(Math.floor(small / 2));
    this.stored = new Room(Math.ceil(small / 2));
    this.large = new Room(large);
    this.#arena = new BodyArena(large);
    this.pacer = new Pacer(bytesPerSecond);
    this.#waitMs = admissionWaitMs;
    this.#now = now ?? (() => performance.now());
    this.open = new OpenBodies(this.#now);
  }

  /** Of small bodies, arriving and being stored. */
  get small(): { readonly taken: number; readonly waiting: number } {
    const rooms = [this.arriving.room, this.stored];
    return {
      taken: rooms.reduce((sum, { taken }) => sum + taken, 0),
      waiting: rooms.reduce((sum, { waiting }) => sum + waiting, 0),
    };
  }

  /** How many bodies of a class were ended for others since the last call. */
  takeEvicted(of: BodyClass): number {
    const count = this.#evicted[of];
    this.#evicted[of] = 0;
    return count;
  }

  now(): number {
    return this.#now();
  }

  /** Charges a body for bytes that have arrived, slow ones giving way. False: it has to wait, with `reserve`. */
  charge(body: OpenBody, bytes: number): boolean {
    if (this.arriving.charge(body, bytes)) return true;
    const now = this.#now();
    if (now < this.#nextLookAt) return false;
    this.#evict(this.arriving.room, { bytes: this.arriving.room.capacity / 8, class: body.class }, now);
    const isFree = this.arriving.charge(body, bytes);
    // All that hold it are fast: not looked at again for each chunk.
    if (!isFree) this.#nextLookAt = now + LOOK_MS / 2;
    return isFree;
  }

  /** Whether the body comes so slowly that it does not wait for memory where there is none: others come sooner. */
  isSlow(body: OpenBody): boolean {
    return body.speed(this.#now()) < SLOW.arriving;
  }

  /** Waits for memory for all that the body may still need. @throws HooklineError NO_ROOM, or the reason of `gone` */
  async reserve(body: OpenBody, bytes: number, gone: AbortSignal): Promise<void> {
    const entered = this.arriving.reserve(body, bytes, this.#waitMs, gone);
    this.#watchLines();
    await entered;
  }

  /** Waits for memory for a small body that is verified. @throws HooklineError NO_ROOM */
  enterStored(bytes: number): Promise<void> {
    return this.stored.enter(bytes, this.#waitMs);
  }

  /** Lets a large body in: there will be memory for it. @throws HooklineError NO_ROOM, or the reason of `gone` */
  async enterLarge(body: OpenBody, bytes: number, place: Place, gone: AbortSignal): Promise<void> {
    const entered = this.large.enter(bytes, this.#waitMs, gone, { place, class: body.class });
    this.#watchLines();
    await entered;
    body.large = bytes;
  }

  /** Gives back what `enterLarge` gave. */
  leaveLarge(body: OpenBody): void {
    const bytes = body.large;
    body.large = 0;
    if (bytes > 0) this.large.leave(bytes);
  }

  /**
   * A large body's piece of memory, when it is its turn to be read: bodies that are read one after the other are written
   * to the same few pages. Waits on where what is free is in pieces that are too small. `giveBack` takes it.
   * @throws HooklineError the reason of `gone`
   */
  async pieceFor(body: OpenBody, place: Place, gone: AbortSignal): Promise<Buffer> {
    await this.pacer.firstTurn(place, gone);
    const piece = this.#arena.enter(body.large, gone, { place, class: body.class });
    this.#watchLines();
    return piece;
  }

  giveBack(into: Buffer): void {
    this.#arena.leave(into);
  }

  /** While somebody waits: ends slow bodies that hold what the first one needs. */
  look(): void {
    const now = this.#now();
    const { room } = this.arriving;
    this.#relieve(room, now, 'same');
    // Of large ones a fast body of the same class goes on: it comes to its end, and what has come of it was not in vain.
    this.#relieve(this.large, now, 'worse');
    // There are as many bytes, but in pieces that are too small.
    const waiter = this.#arena.first;
    if (waiter) this.#evict(this.large, waiter, now);
  }

  #relieve(room: Room, now: number, whenStuck: 'worse' | 'same'): void {
    const waiter = room.first;
    if (!waiter) return;
    const evicted = this.#evict(room, { bytes: room.missing, class: waiter.class }, now);
    if (evicted > 0 || room.stuckMs(now) < STUCK_MS) return;
    // All that are left are fast: no more of them than the first one needs.
    const bytes = room.taken + waiter.bytes - room.capacity;
    this.#evict(room, { bytes, class: waiter.class }, now, whenStuck);
  }

  #evict(
    room: Room,
    lacking: { readonly bytes: number; readonly class: BodyClass },
    now: number,
    fastToo: 'none' | 'worse' | 'same' = 'none',
  ): number {
    const isLarge = room === this.large;
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

  #watchLines(): void {
    if (this.#looking || !this.#isWaitedFor()) return;
    this.look();
    this.#looking = setInterval(() => {
      this.look();
      if (this.#isWaitedFor()) return;
      clearInterval(this.#looking);
      this.#looking = undefined;
    }, LOOK_MS).unref();
  }

  #isWaitedFor(): boolean {
    return this.arriving.room.waiting + this.large.waiting > 0 || this.#arena.first !== undefined;
  }
}

/**
 * The memory that bodies hold while they are not verified: charged as they arrive, for what has arrived. Half of it is
 * had without asking, so that nobody waits behind what was only announced. Who needs more when that half is taken waits
 * until all that may still come has room in the other half: so those that are begun there also come to their end.
 */
class ArrivingMemory {
  readonly room: Room;
  #n = 0;

  /** At least what one of the largest small bodies needs, twice. */
  constructor(bytes: number, maxBodyBytes = LARGE_BODY_BYTES) {
    this.room = new Room(Math.max(bytes, 2 * Math.min(LARGE_BODY_BYTES, maxBodyBytes)));
  }

  /** Charges a body for bytes that have arrived. False: it has to wait, with `reserve`. */
  charge(body: OpenBody, bytes: number): boolean {
    if (body.reserved >= bytes) {
      body.reserved -= bytes;
      return true;
    }
    const { room } = this;
    if (room.taken + bytes > room.capacity / 2 || !room.tryEnter(bytes)) return false;
    body.charged += bytes;
    return true;
  }

  /** Charges a body that goes on to wait elsewhere, whether there is room or not. */
  add(body: OpenBody, bytes: number): void {
    if (this.charge(body, bytes)) return;
    this.room.add(bytes);
    body.charged += bytes;
  }

  /**
   * Waits for all that the body may still need, proven ones first.
   * @throws HooklineError NO_ROOM, and the reason of `gone`
   */
  async reserve(body: OpenBody, bytes: number, waitMs: number, gone: AbortSignal): Promise<void> {
    const place = { tag: body.class === PROVEN ? 0 : 1, n: this.#n++ };
    await this.room.enter(bytes, waitMs, gone, { place, class: body.class });
    body.charged += bytes;
    body.reserved += bytes;
  }

  /** Gives back all that the body holds. */
  leave(body: OpenBody): void {
    if (body.charged > 0) this.room.leave(body.charged);
    body.charged = 0;
    body.reserved = 0;
  }
}
