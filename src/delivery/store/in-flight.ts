import type { Receipt, VerifiedDelivery } from '../../core/delivery.ts';

/** A delivery that isn't stored yet. */
export type Entry = {
  readonly delivery: VerifiedDelivery;
  readonly resolve: (receipt: Receipt) => void;
  readonly reject: (error: unknown) => void;
  /** It has waited for a handover. It does so once: handover after handover, as rows are drained, could make it wait without end. */
  readonly hasWaited?: true;
};

/** Deliveries that are being published, in the order of their arrival. */
export class InFlight {
  readonly #entries = new Set<Entry>();
  /** Those that wait for an object of their key, and that key; see {@link orderKey}. */
  readonly #waiting = new Map<Entry, string>();
  /** Those whose record is with the brokers, and its key. */
  readonly #sent = new Map<Entry, string>();
  /** Those that go to the spool when no earlier one of their key is with the brokers any more. */
  readonly #deferred = new Map<Entry, string>();

  add(entry: Entry): void {
    this.#entries.add(entry);
  }

  /** Whether it is being published: not taken out, and not deferred. */
  has(entry: Entry): boolean {
    return this.#entries.has(entry) && !this.#deferred.has(entry);
  }

  /** Takes one out. @returns false where it was not there */
  take(entry: Entry): boolean {
    this.#waiting.delete(entry);
    this.#sent.delete(entry);
    this.#deferred.delete(entry);
    return this.#entries.delete(entry);
  }

  takeAll(): Entry[] {
    const all = [...this.#entries];
    this.#entries.clear();
    this.#waiting.clear();
    this.#sent.clear();
    this.#deferred.clear();
    return all;
  }

  /** It waits for its object, or for that of an earlier one of the key. */
  wait(entry: Entry, order: string): void {
    this.#sent.delete(entry);
    if (this.#entries.has(entry)) this.#waiting.set(entry, order);
  }

  /** It waits no more: its record goes to the brokers. */
  send(entry: Entry, order: string): void {
    this.#waiting.delete(entry);
    if (this.#entries.has(entry)) this.#sent.set(entry, order);
  }

  /** The key of which it waits for an object; undefined where it waits for none. */
  waitsFor(entry: Entry): string | undefined {
    return this.#waiting.get(entry);
  }

  /** Whether records of this key are with the brokers. */
  isSent(order: string): boolean {
    return hasValue(this.#sent, order);
  }

  /**
   * It goes to the spool, but not before the earlier ones of its key that are with the brokers have ended: one that is not
   * confirmed in time goes there too, and would come behind it.
   */
  defer(entry: Entry, order: string): void {
    this.#waiting.delete(entry);
    this.#sent.delete(entry);
    if (this.#entries.has(entry)) this.#deferred.set(entry, order);
  }

  /** Defers those of a key that wait for an object. */
  deferWaiting(order: string): void {
    for (const [entry, one] of [...this.#waiting]) if (one === order) this.defer(entry, order);
  }

  /** The keys of those that are deferred. */
  get deferredOrders(): Iterable<string> {
    return this.#deferred.size === 0 ? [] : new Set(this.#deferred.values());
  }

  isDeferring(order: string): boolean {
    return hasValue(this.#deferred, order);
  }

  /** Takes out those of a key that are deferred. */
  takeDeferred(order: string): Entry[] {
    const deferred = [...this.#entries].filter((entry) => this.#deferred.get(entry) === order);
    return deferred.filter((entry) => this.take(entry));
  }
}

function hasValue(map: ReadonlyMap<Entry, string>, order: string): boolean {
  for (const value of map.values()) if (value === order) return true;
  return false;
}
