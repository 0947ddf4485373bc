/** 16 MB of memory. When it is full it begins anew: retention has mostly deleted what was added first. */
const MAX_IDENTITIES = 1_000_000;
const FIRST_SLOTS = 1_024;

/** Which dead-lettered deliveries are done and forgotten, 16 bytes each: a copy that comes later is not open. */
export class DoneIdentities {
  readonly #max: number;
  /** Two words a slot; 0 and 0 where it is free. At most half of the slots are in use. */
  #slots = new Uint32Array(2 * FIRST_SLOTS);
  #size = 0;

  constructor(max = MAX_IDENTITIES) {
    this.#max = max;
  }

  add(identity: string): void {
    if (this.#size >= this.#max) {
      this.#slots = new Uint32Array(2 * FIRST_SLOTS);
      this.#size = 0;
    }
    if (this.#size * 4 >= this.#slots.length) this.#grow();
    const [high, low] = hash(identity);
    this.#put(high, low);
  }

  has(identity: string): boolean {
    if (this.#size === 0) return false;
    const [high, low] = hash(identity);
    return this.#slots[this.#slotOf(high, low) + 1] !== 0;
  }

  /** Where it is, or would be. */
  #slotOf(high: number, low: number): number {
    const mask = this.#slots.length - 1;
    let at = (high * 2) & mask;
    while (this.#slots[at + 1] !== 0 && (this.#slots[at] !== high || this.#slots[at + 1] !== low))
      at = (at + 2) & mask;
    return at;
  }

  #put(high: number, low: number): void {
    const at = this.#slotOf(high, low);
    if (this.#slots[at + 1] === 0) this.#size++;
    this.#slots[at] = high;
    this.#slots[at + 1] = low;
  }

  #grow(): void {
    const before = this.#slots;
    this.#slots = new Uint32Array(2 * before.length);
    this.#size = 0;
    for (let at = 0; at < before.length; at += 2)
      if (before[at + 1] !== 0) this.#put(before[at] ?? 0, before[at + 1] ?? 0);
  }
}

/** 63 bits by MurmurHash3's mixing. The second word is never 0. */
function hash(text: string): [high: number, low: number] {
  let [high, low] = [0x9e3779b9, 0x85ebca6b];
  for (let n = 0; n < text.length; n++) {
    const code = text.charCodeAt(n);
    high = Math.imul(high ^ code, 0xcc9e2d51);
    high = (high << 13) | (high >>> 19);
    low = Math.imul(low ^ code, 0x1b873593);
    low = (low << 15) | (low >>> 17);
  }
  return [mix(high ^ low), (mix(low) | 1) >>> 0];
}

function mix(word: number): number {
  let mixed = Math.imul(word ^ (word >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
