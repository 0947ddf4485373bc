import { sha256Of } from '../crypto/ids.ts';

/** Words of 32 bits that are kept of a text's hash. 96 bits: no two texts of a topic have the same. */
const WORDS = 3;
const FIRST_SLOTS = 1_024;

/** Numbers texts as they come, from 0, and keeps about 25 bytes of each, however long it is. */
export class TextNumbers {
  #hashes = new Uint32Array(WORDS * FIRST_SLOTS);
  /** A number and 1; 0 where it is free. At most three quarters are in use. */
  #slots = new Uint32Array(FIRST_SLOTS);
  #size = 0;

  /** How many texts have a number. */
  get size(): number {
    return this.#size;
  }

  /** The number of this text, which is the next one if the text is new. */
  numberOf(text: string): number {
    const hash = hashOf(text);
    const slot = this.#slotOf(hash);
    const known = this.#slots[slot] ?? 0;
    if (known > 0) return known - 1;
    const number = this.#size++;
    if (this.#size * WORDS > this.#hashes.length)
      this.#hashes = enlarged(this.#hashes, WORDS * Math.ceil(this.#size * 1.5));
    this.#hashes.set(hash, number * WORDS);
    this.#slots[slot] = number + 1;
    if (this.#size * 4 > this.#slots.length * 3) this.#growSlots();
    return number;
  }

  /** The number of this text; undefined if it was never numbered. */
  find(text: string): number | undefined {
    const known = this.#slots[this.#slotOf(hashOf(text))] ?? 0;
    return known > 0 ? known - 1 : undefined;
  }

  /** Where it is, or would be. */
  #slotOf(hash: ArrayLike<number>): number {
    const mask = this.#slots.length - 1;
    let slot = (hash[0] ?? 0) & mask;
    for (; ; slot = (slot + 1) & mask) {
      const known = this.#slots[slot] ?? 0;
      if (known === 0 || this.#isAt((known - 1) * WORDS, hash)) return slot;
    }
  }

  #isAt(start: number, hash: ArrayLike<number>): boolean {
    for (let n = 0; n < WORDS; n++) if (this.#hashes[start + n] !== hash[n]) return false;
    return true;
  }

  #growSlots(): void {
    this.#slots = new Uint32Array(2 * this.#slots.length);
    for (let number = 0; number < this.#size; number++) {
      const start = number * WORDS;
      this.#slots[this.#slotOf(this.#hashes.subarray(start, start + WORDS))] = number + 1;
    }
  }
}

function enlarged(words: Uint32Array<ArrayBuffer>, length: number): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(length);
  larger.set(words);
  return larger;
}

function hashOf(text: string): number[] {
  const hex = sha256Of(Buffer.from(text));
  return Array.from({ length: WORDS }, (_, n) => Number.parseInt(hex.slice(8 * n, 8 * n + 8), 16));
}
