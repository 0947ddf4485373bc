import { type Waiter, WaitingLine } from './waiting-line.ts';

/**
 * Memory that bodies share, counted in bytes: who finds no room waits, in the order of their places. A body that is larger
 * than all of the room gets in when it is alone.
 */
export class Room {
  readonly capacity: number;
  #taken = 0;
  readonly #line = new WaitingLine((bytes) => this.#take(bytes));

  constructor(capacity: number) {
    this.capacity = capacity;
  }

  /** Bytes that are taken. */
  get taken(): number {
    return this.#taken;
  }

  /** How many wait for room. */
  get waiting(): number {
    return this.#line.length;
  }

  /** The next one to get in. */
  get first(): Waiter | undefined {
    return this.#line.first;
  }

  /** Bytes that are missing for all who wait. */
  get missing(): number {
    return this.#taken + this.#line.bytes - this.capacity;
  }

  /** For how long nobody has got in, where somebody waits. */
  stuckMs(now: number): number {
    return this.#line.stuckMs(now);
  }

  /** Takes room where there is some at once, and nobody waits for it. */
  tryEnter(bytes: number): boolean {
    return this.#line.tryEnter(bytes) !== null;
  }

  /**
   * Takes room, when it is there. What was taken is given back by `leave`.
   * @param gone ends the wait: nobody is there any more
   * @throws HooklineError NO_ROOM after `waitMs` or where too many wait, BODY_INCOMPLETE where `gone`
   */
  async enter(bytes: number, waitMs: number, gone?: AbortSignal, by?: Partial<Waiter>): Promise<void> {
    await this.#line.enter(bytes, waitMs, gone, by);
  }

  /** Takes room, whether there is some or not. */
  add(bytes: number): void {
    this.#taken += bytes;
  }

  /** Gives room back. */
  leave(bytes: number): void {
    this.#taken -= bytes;
    this.#line.letIn();
  }

  #take(bytes: number): true | null {
    if (this.#taken > 0 && this.#taken + bytes > this.capacity) return null;
    this.#taken += bytes;
    return true;
  }
}
