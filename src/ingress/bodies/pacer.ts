/** Bytes of large bodies that are read in one turn of the event loop: about half a millisecond's work. */
const TURN_BYTES = 256 * 1024;
/** What Node reads of a socket at once. */
const PIECE_BYTES = 64 * 1024;

/**
 * Lets large bodies share the turns of the event loop. Node would read two megabytes of each socket before it looks at
 * the next, and hash them on the way: with several such senders everybody else would wait for tens of milliseconds.
 */
export class Pacer {
  #left = TURN_BYTES;
  #queue: (() => void)[] = [];
  #turning = false;

  /** Counts what was read. False means: no more in this turn, and `goOn` is called when it is one's turn again. */
  take(bytes: number, goOn: () => void): boolean {
    this.#left -= bytes;
    this.#awaitTurn();
    if (this.#left > 0) return true;
    this.#queue.push(goOn);
    return false;
  }

  #awaitTurn(): void {
    if (this.#turning) return;
    this.#turning = true;
    setImmediate(() => this.#turn());
  }

  #turn(): void {
    this.#turning = false;
    this.#left = TURN_BYTES;
    const next = this.#queue.splice(0, TURN_BYTES / PIECE_BYTES);
    if (this.#queue.length > 0) this.#awaitTurn();
    for (const goOn of next) goOn();
  }
}
