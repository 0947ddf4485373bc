import { HooklineError } from '../../core/errors.ts';

/** What is read in one turn: about half a millisecond's work. */
const TURN_BYTES = 256 * 1024;
const TURN_MS = 1;
/** What is made up for, of turns that came late. */
const SAVED_BYTES = 2 * 1024 * 1024;
/** What Node reads of a socket at once. */
const PIECE_BYTES = 64 * 1024;

/** The place of what is only read to be thrown away: behind all others. */
export const LAST_PLACE = Number.POSITIVE_INFINITY;

type Reader = { readonly place: number; readonly goOn: () => void };

/**
 * Lets large bodies share time and processor with everybody else. Node would read two megabytes of each socket before
 * it looks at the next, and hash them on the way. The body that came first is read first: five that were read side by
 * side would all be whole five times as late, and nothing could be done with any of them before.
 */
export class Pacer {
  #bytesPerSecond: number;
  /** Of this turn; less than nothing where a piece was larger than the rest. */
  #left = TURN_BYTES;
  #saved = 0;
  #countedAt = performance.now();
  /** In the order of their places. */
  readonly #queue: Reader[] = [];
  #turn: NodeJS.Timeout | undefined;
  #places = 0;

  constructor(bytesPerSecond: number) {
    this.#bytesPerSecond = bytesPerSecond;
  }

  /** A place behind the bodies that are read already. */
  nextPlace(): number {
    return this.#places++;
  }

  /** Counts what was read. False means: no more now, and `goOn` is called when it is that place's turn again. */
  take(bytes: number, place: number, goOn: () => void): boolean {
    this.#left -= bytes;
    if (this.#left > 0) return true;
    this.#standInLine({ place, goOn });
    return false;
  }

  /**
   * Waits for the first turn of that place.
   * @param gone ends the wait: nobody is there any more
   * @throws HooklineError BODY_INCOMPLETE where `gone`
   */
  async firstTurn(place: number, gone: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    gone.addEventListener('abort', () => resolve());
    this.#standInLine({ place, goOn: resolve });
    await promise;
    if (gone.aborted) throw new HooklineError('BODY_INCOMPLETE');
  }

  /** From now on they are read as fast as turns come: the process stops, and small ones go elsewhere. */
  hurry(): void {
    this.#bytesPerSecond = Number.MAX_SAFE_INTEGER;
  }

  #standInLine(reader: Reader): void {
    const behind = this.#queue.findIndex(({ place }) => place > reader.place);
    this.#queue.splice(behind < 0 ? this.#queue.length : behind, 0, reader);
    this.#awaitTurn();
  }

  #awaitTurn(): void {
    this.#turn ??= setTimeout(() => {
      this.#turn = undefined;
      this.#giveTurn();
    }, TURN_MS);
  }

  /** To one at a time: whoever can't read now, since nothing has come, leaves the rest to the next one a turn later. */
  #giveTurn(): void {
    const now = performance.now();
    const earned = ((now - this.#countedAt) / 1_000) * this.#bytesPerSecond;
    this.#countedAt = now;
    const all = Math.min(SAVED_BYTES, this.#saved + this.#left + earned);
    this.#left = Math.min(TURN_BYTES, all);
    this.#saved = all - this.#left;
    const next = this.#left < PIECE_BYTES ? undefined : this.#queue.shift();
    if (this.#queue.length > 0) this.#awaitTurn();
    next?.goOn();
  }
}
