import { BodyArena } from './body-arena.ts';
import type { MemoryShares } from './memory-shares.ts';
import { Pacer } from './pacer.ts';
import { Room } from './room.ts';

/** The memory that bodies have, small ones and large ones apart, so that no small one waits behind a large one. */
export class BodyMemory {
  readonly small: Room;
  readonly large: BodyArena;
  readonly pacer = new Pacer();
  readonly #waitMs: number;

  constructor(shares: Pick<MemoryShares, 'small' | 'large'>, admissionWaitMs: number) {
    this.small = new Room(shares.small);
    this.large = new BodyArena(shares.large);
    this.#waitMs = admissionWaitMs;
  }

  /** @throws HooklineError NO_ROOM, BODY_INCOMPLETE */
  enterSmall(bytes: number, gone: AbortSignal): Promise<void> {
    return this.small.enter(bytes, this.#waitMs, gone);
  }

  /** A piece of memory for it. @throws HooklineError NO_ROOM, BODY_INCOMPLETE */
  enterLarge(bytes: number, gone: AbortSignal): Promise<Buffer> {
    return this.large.enter(bytes, this.#waitMs, gone);
  }
}
