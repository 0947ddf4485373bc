/** For how long somebody may act on what he was given: a partition, or a right to act alone, is another's some day. */
export type Tenure = {
  /** Aborts when it is over. */
  readonly signal: AbortSignal;
  /**
   * Looks at once whether it is over, for right before what can't be taken back: a process that was frozen is told by
   * nobody what has happened meanwhile.
   * @throws the signal's reason
   */
  check(): void;
  /** Milliseconds that are left of it, where that is known before: nothing is begun that would take longer. */
  readonly leftMs?: () => number;
};

/** One whose end is always told. */
export const tenureOf = (signal: AbortSignal): Tenure => ({ signal, check: () => signal.throwIfAborted() });
