import { HooklineError } from '../../core/errors.ts';

type Waiting<T> = { readonly bytes: number; readonly enter: (taken: T) => void };

/** Those who wait for bytes of something, first come first served. */
export class WaitingLine<T> {
  readonly #take: (bytes: number) => T | null;
  readonly #waiting = new Set<Waiting<T>>();

  /** @param take gives so many bytes, or null while there aren't as many */
  constructor(take: (bytes: number) => T | null) {
    this.#take = take;
  }

  get length(): number {
    return this.#waiting.size;
  }

  /** What is there at once, where nobody waits for it; else null. */
  tryEnter(bytes: number): T | null {
    return this.#waiting.size > 0 ? null : this.#take(bytes);
  }

  /**
   * @param gone ends the wait: nobody is there any more
   * @throws HooklineError NO_ROOM after `waitMs`, BODY_INCOMPLETE where `gone`
   */
  enter(bytes: number, waitMs: number, gone?: AbortSignal): Promise<T> {
    if (gone?.aborted) return Promise.reject(new HooklineError('BODY_INCOMPLETE'));
    const taken = this.tryEnter(bytes);
    if (taken !== null) return Promise.resolve(taken);
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
        this.letIn();
      };
      const leave = () => giveUp(new HooklineError('BODY_INCOMPLETE'));
      const timer = Number.isFinite(waitMs)
        ? setTimeout(() => giveUp(new HooklineError('NO_ROOM')), waitMs)
        : undefined;
      const enter = (taken: T) => {
        end();
        resolve(taken);
      };
      const one: Waiting<T> = { bytes, enter };
      this.#waiting.add(one);
      gone?.addEventListener('abort', leave);
    });
  }

  /** To be called when some was given back. */
  letIn(): void {
    for (const one of this.#waiting) {
      const taken = this.#take(one.bytes);
      if (taken === null) return;
      one.enter(taken);
    }
  }
}
