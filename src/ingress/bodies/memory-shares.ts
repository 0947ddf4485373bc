/**
 * What a large body costs, in times of its length, while it is opened, parsed, encoded and produced: the body as it
 * came, its plain message, that as text, the JSON's objects, the record, and what the socket holds of it. Measured
 * with `make bench-large` over 50 MB: 7 where the message is one long text, up to 8 where it is 170,000 objects.
 */
export const WORK_FACTOR = 8;

/** Of the budget, for bodies that are not large: they never wait behind one that is. */
const SMALL_SHARE = 1 / 8;

/** How MEMORY_BUDGET_BYTES is shared out. */
export type MemoryShares = {
  /** For small bodies. */
  readonly small: number;
  /** For large bodies that arrive, or have arrived and wait for their turn. */
  readonly large: number;
  /** Bytes of bodies that are worked on at once: as many as one body may have. Each costs WORK_FACTOR times as much. */
  readonly atWork: number;
};

export function memoryShares(budgetBytes: number, maxBodyBytes: number): MemoryShares {
  const small = Math.floor(budgetBytes * SMALL_SHARE);
  return { small, large: budgetBytes - small - WORK_FACTOR * maxBodyBytes, atWork: maxBodyBytes };
}

/** The least budget: one body of the largest size can arrive while another is worked on. */
export function leastBudget(maxBodyBytes: number): number {
  return Math.ceil(((WORK_FACTOR + 1) * maxBodyBytes) / (1 - SMALL_SHARE));
}
