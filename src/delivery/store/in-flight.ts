import type { Receipt, VerifiedDelivery } from '../../core/delivery.ts';

/** A delivery that isn't stored yet. */
export type Entry = {
  readonly delivery: VerifiedDelivery;
  readonly resolve: (receipt: Receipt) => void;
  readonly reject: (error: unknown) => void;
};

/** Deliveries that are being published, in the order of their arrival. */
export class InFlight {
  readonly #entries = new Set<Entry>();
  /** Those that wait for an object of their key, and that key; see {@link orderKey}. */
  readonly #waiting = new Map<Entry, string>();

  add(entry: Entry): void {
    this.#entries.add(entry);
  }

  has(entry: Entry): boolean {
    return this.#entries.has(entry);
  }

  /** Takes one out. @returns false where it was not there */
  take(entry: Entry): boolean {
    this.#waiting.delete(entry);
    return this.#entries.delete(entry);
  }

  takeAll(): Entry[] {
    const all = [...this.#entries];
    this.#entries.clear();
    this.#waiting.clear();
    return all;
  }

  /** It waits for its object, or for that of an earlier one of the key. */
  wait(entry: Entry, order: string): void {
    if (this.#entries.has(entry)) this.#waiting.set(entry, order);
  }

  /** It waits no more: its record goes to the brokers. */
  endWait(entry: Entry): void {
    this.#waiting.delete(entry);
  }

  /** The key of which it waits for an object; undefined where it waits for none. */
  waitsFor(entry: Entry): string | undefined {
    return this.#waiting.get(entry);
  }

  /** Takes out those of a key that wait: none of their records is with the brokers. */
  takeWaiting(order: string): Entry[] {
    const waiting = [...this.#waiting].filter(([, one]) => one === order).map(([entry]) => entry);
    return waiting.filter((entry) => this.take(entry));
  }
}
