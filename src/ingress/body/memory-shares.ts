/**
 * What a large body costs while it is opened, encoded and produced, in times of its length and beside itself: its plain
 * message, what its lists become, and the record, which may be twice as long: see `recordRoom`. Measured with `make bench-large`.
 */
export const WORK_FACTOR = 4;

/** Of the budget, for bodies that are not large: they never wait behind one that is. */
const SMALL_SHARE = 1 / 12;

/** Of those that were admitted, what is in memory at once: more would only wait for its turn there. By default five of twelve of 50 MB. */
const READ_SHARE = 3 / 7;

/** Of that for large bodies, what the larger ones of them never take: a few would keep all others out for as long as they arrive. */
const RESERVED_SHARE = 1 / 8;
const LARGER_BYTES = 4 * 1024 * 1024;

export const isLarger = (bytes: number): boolean => bytes > LARGER_BYTES;

/** Bytes of a memory that bodies have taken. */
export class TakenBytes {
  readonly #capacity: number;
  /** What the larger ones never take. */
  readonly #reserved: number;
  #larger = 0;
  #others = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
    this.#reserved = Math.floor(capacity * RESERVED_SHARE);
  }

  get all(): number {
    return this.#larger + this.#others;
  }

  /** @param bytes that one body takes; below zero where it gives them back */
  add(bytes: number): void {
    if (isLarger(Math.abs(bytes))) this.#larger += bytes;
    else this.#others += bytes;
  }

  /**
   * Bytes that are free for a body of a length.
   * @param passed the length of a larger one that waits before it: only of what that one can never have
   */
  freeFor(bytes: number, passed?: number): number {
    if (isLarger(bytes)) return this.#capacity - this.#larger - Math.max(this.#others, this.#reserved);
    const free = this.#capacity - this.all;
    if (passed === undefined) return free;
    // It waits until it is alone.
    if (passed > this.#capacity - this.#reserved) return 0;
    return Math.min(free, this.#reserved - this.#others);
  }
}

/** How MEMORY_BUDGET_BYTES is shared out. */
export type MemoryShares = {
  /** For small bodies. */
  readonly small: number;
  /** For large bodies that were admitted: they wait to be read, arrive, or have arrived and wait for their turn. */
  readonly large: number;
  /** Of those, for bodies that arrive or have arrived. */
  readonly read: number;
  /** Bytes of bodies that are worked on at once: one of the largest. Each costs WORK_FACTOR times as much beside itself. */
  readonly atWork: number;
};

export function memoryShares(budgetBytes: number, maxBodyBytes: number): MemoryShares {
  const small = Math.floor(budgetBytes * SMALL_SHARE);
  const atWork = maxBodyBytes;
  const large = budgetBytes - small - WORK_FACTOR * atWork;
  return { small, large, read: Math.max(maxBodyBytes, Math.floor(large * READ_SHARE)), atWork };
}

/** The least budget: one body of the largest size can arrive while another is worked on. */
export function minBudget(maxBodyBytes: number): number {
  return Math.ceil(((WORK_FACTOR + 2) * maxBodyBytes) / (1 - SMALL_SHARE));
}

/**
 * What a budget should have with a spool: while Kafka is unavailable the drain keeps the memory for one row, and a body of the largest
 * size can still arrive beside it.
 */
export const spoolBudget = (maxBodyBytes: number): number =>
  minBudget(maxBodyBytes) + Math.ceil((WORK_FACTOR * maxBodyBytes) / (1 - SMALL_SHARE));
