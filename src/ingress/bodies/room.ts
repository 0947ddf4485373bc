import { HooklineError } from '../../core/errors.ts';

type Waiting = { readonly bytes: number; readonly enter: () => void };

/**
 * Memory that bodies share, counted in bytes: who finds no room waits, first come first served. A body that is larger
 * than all of the room gets in when it is alone.
 */
export class Room {
  readonly #capacity: number;
  #taken = 0;
  readonly #waiting = new Set<Waiting>();

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** Bytes that are taken. */
  get taken(): number {
    return this.#taken;
  }

  /** How many wait for room. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Takes room where there is some at once, and nobody waits for it. */
  tryEnter(bytes: number): boolean {
    if (this.#waiting.size > 0 || !this.#hasRoom(bytes)) return false;
    this.#taken += bytes;
    return true;
  }

  /**
   * Takes room, when it is there. What was taken is given back by `leave`.
   * @param gone ends the wait: nobody is there any more
   * @throws HooklineError NO_ROOM after `waitMs`, BODY_INCOMPLETE where `gone`
   */
  enter(bytes: number, waitMs: number, gone?: AbortSignal): Promise<void> {
    if (gone?.aborted) return Promise.reject(new HooklineError('BODY_INCOMPLETE'));
    if (this.tryEnter(bytes)) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const end = () => {
        clearTimeout(timer);
        gone?.removeEventListener('abort', leave);
        this.#waiting.delete(one);
      };
      const giveUp = (error: HooklineError) => {
        end();
        reject(error);
        // The one that gave up may have been the large one that smaller ones stood behind.
        this.#letIn();
      };
      const leave = () => giveUp(new HooklineError('BODY_INCOMPLETE'));
      const timer = Number.isFinite(waitMs)
        ? setTimeout(() => giveUp(new HooklineError('NO_ROOM')), waitMs)
        : undefined;
      const enter = () => {
        end();
        resolve();
      };
      const one: Waiting = { bytes, enter };
      this.#waiting.add(one);
      gone?.addEventListener('abort', leave);
    });
  }

  /** Gives room back. */
  leave(bytes: number): void {
    this.#taken -= bytes;
    this.#letIn();
  }

  #hasRoom(bytes: number): boolean {
    return this.#taken === 0 || this.#taken + bytes <= this.#capacity;
  }

  #letIn(): void {
    for (const one of this.#waiting) {
      if (!this.#hasRoom(one.bytes)) return;
      this.#taken += one.bytes;
      one.enter();
    }
  }
}
