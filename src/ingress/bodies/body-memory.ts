import { BodyArena } from './body-arena.ts';
import type { MemoryShares } from './memory-shares.ts';
import { Pacer } from './pacer.ts';
import { Room } from './room.ts';

export type BodyMemoryOptions = Pick<MemoryShares, 'small' | 'large'> & {
  /** How long a body waits for room, at the most. */
  readonly admissionWaitMs: number;
  /** What is read of large bodies, all together. */
  readonly bytesPerSecond: number;
};

/** A large body's memory, from when it begins to be read. */
export type LargePlace = { readonly into: Buffer; readonly place: number };

/** The memory that bodies have, small ones and large ones apart, so that no small one waits behind a large one. */
export class BodyMemory {
  readonly small: Room;
  /** Of bodies that were let in; most of them wait for their turn to be read, and cost nothing yet. */
  readonly large: Room;
  readonly pacer: Pacer;
  readonly #arena: BodyArena;
  readonly #waitMs: number;

  constructor({ small, large, admissionWaitMs, bytesPerSecond }: BodyMemoryOptions) {
    this.small = new Room(small);
    this.large = new Room(large);
    this.#arena = new BodyArena(large);
    this.pacer = new Pacer(bytesPerSecond);
    this.#waitMs = admissionWaitMs;
  }

  /** @throws HooklineError NO_ROOM, BODY_INCOMPLETE */
  enterSmall(bytes: number, gone: AbortSignal): Promise<void> {
    return this.small.enter(bytes, this.#waitMs, gone);
  }

  /** Lets a large body in: there will be memory for it. @throws HooklineError NO_ROOM, BODY_INCOMPLETE */
  enterLarge(bytes: number, gone: AbortSignal): Promise<void> {
    return this.large.enter(bytes, this.#waitMs, gone);
  }

  /**
   * Its piece of memory, when it is its turn to be read: bodies that are read one after the other are written to the same
   * few pages. Waits on where what is free is in pieces that are too small; the request's own time-out ends that.
   * `giveBack` takes it.
   * @throws HooklineError BODY_INCOMPLETE where it is `gone`
   */
  async placeFor(bytes: number, gone: AbortSignal): Promise<LargePlace> {
    const place = this.pacer.nextPlace();
    await this.pacer.firstTurn(place, gone);
    return { place, into: await this.#arena.enter(bytes, gone) };
  }

  giveBack(into: Buffer): void {
    this.#arena.leave(into);
  }
}
