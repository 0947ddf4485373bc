import { WaitingLine } from './waiting-line.ts';

/**
 * Memory that bodies share, counted in bytes: who finds no room waits, first come first served. A body that is larger
 * than all of the room gets in when it is alone.
 */
export class Room {
  readonly #capacity: number;
  #taken = 0;
  readonly #line = new WaitingLine((bytes) => this.#take(bytes));

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** Bytes that are taken. */
  get taken(): number {
    return this.#taken;
  }

  /** How many wait for room. */
  get waiting(): number {
    return this.#line.length;
  }

  /** Takes room where there is some at once, and nobody waits for it. */
  tryEnter(bytes: number): boolean {
    return this.#line.tryEnter(bytes) !== null;
  }

  /**
   * Takes room, when it is there. What was taken is given back by `leave`.
   * @param gone ends the wait: nobody is there any more
   * @throws HooklineError NO_ROOM after `waitMs`, BODY_INCOMPLETE where `gone`
   */
  async enter(bytes: number, waitMs: number, gone?: AbortSignal): Promise<void> {
    await this.#line.enter(bytes, waitMs, gone);
  }

  /** Gives room back. */
  leave(bytes: number): void {
    this.#taken -= bytes;
    this.#line.letIn();
  }

  #take(bytes: number): true | null {
    if (this.#taken > 0 && this.#taken + bytes > this.#capacity) return null;
    this.#taken += bytes;
    return true;
  }
}
