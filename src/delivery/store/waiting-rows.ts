import type { ClaimCheck } from '../claim-check.ts';

/**
 * Rows of the spool that wait for the object store: those whose message it does not take now, and later ones of their
 * keys. They stay in the spool, and are read again in their order when it takes messages.
 */
export class WaitingRows {
  readonly #claims: ClaimCheck | undefined;
  readonly #onHeld: (order: string) => void;
  readonly #ids = new Set<number>();
  readonly #orders = new Set<string>();

  /** @param onHeld called with the key of each row that begins to wait */
  constructor(claims: ClaimCheck | undefined, onHeld: (order: string) => void) {
    this.#claims = claims;
    this.#onHeld = onHeld;
  }

  get size(): number {
    return this.#ids.size;
  }

  has(id: number): boolean {
    return this.#ids.has(id);
  }

  /** Whether an earlier row of the key waits. */
  holds(order: string): boolean {
    return this.#orders.has(order);
  }

  add(id: number, order: string): void {
    this.#ids.add(id);
    this.#orders.add(order);
    this.#onHeld(order);
  }

  /** Whether some wait and the store takes messages, or one of them is to find that out; checks the store where it did not. */
  get isOver(): boolean {
    if (this.size === 0) return false;
    this.#claims?.probe();
    return this.#claims?.trouble == null || this.#claims.isMessageAwaited;
  }

  /** Ends the waiting. @returns the oldest row that waited */
  end(): number {
    const first = [...this.#ids].reduce((least, id) => Math.min(least, id));
    this.#ids.clear();
    this.#orders.clear();
    return first;
  }
}
