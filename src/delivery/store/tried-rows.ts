import type { WaitingKey, WaitingRow } from './waiting-key.ts';

/** Rows of keys that wait which are in progress all the same: they are tried, or were before it was known that they take long. */
export class TriedRows {
  readonly #keys = new Map<number, WaitingKey>();
  /** Those whose end shows something of the store: their object may not be stored yet. */
  readonly #trials = new Set<number>();
  #large: number | undefined;

  get size(): number {
    return this.#keys.size;
  }

  /** Without the large one. */
  get small(): number {
    return this.#keys.size - (this.hasLarge ? 1 : 0);
  }

  get hasLarge(): boolean {
    return this.#large !== undefined;
  }

  get hasTrial(): boolean {
    return this.#trials.size > 0;
  }

  has(id: number): boolean {
    return this.#keys.has(id);
  }

  keyOf(id: number): WaitingKey | undefined {
    return this.#keys.get(id);
  }

  add(id: number, key: WaitingKey): void {
    this.#keys.set(id, key);
  }

  /** It waited, and is tried. */
  begin({ id, isLarge }: WaitingRow, key: WaitingKey): void {
    this.#keys.set(id, key);
    if (isLarge) this.#large = id;
    if (!key.isForTopic) this.#trials.add(id);
    key.begin(id, isLarge);
  }

  /** Its object is stored, or it needs none. */
  noteSent(id: number): void {
    this.#trials.delete(id);
    this.#keys.get(id)?.noteSent(id);
  }

  end(id: number): void {
    this.#keys.delete(id);
    this.#trials.delete(id);
    if (this.#large === id) this.#large = undefined;
  }
}
