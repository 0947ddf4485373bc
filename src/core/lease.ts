/** The right to act on something for a while: on a partition, or alone for a group of processes. */
export type Lease = {
  /** Aborts when the lease ends. */
  readonly signal: AbortSignal;
  /**
   * Checks at once whether the lease has ended: call it right before an effect that cannot be undone. A process that was
   * frozen has not been notified of anything meanwhile.
   * @throws the signal's reason
   */
  check(): void;
  /** Milliseconds that are left, where the end is known in advance: do not begin what takes longer. */
  readonly leftMs?: () => number;
};

/** A lease that lasts until `signal` aborts. */
export const leaseOf = (signal: AbortSignal): Lease => ({ signal, check: () => signal.throwIfAborted() });
