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

/** What the process that works does beside its records. */
export type LeasedWork = {
  /** This process works until the lease ends; or, null, it stands by. */
  working(lease: Lease | null): void;
  stop(): Promise<void>;
};

/**
 * Does a work under each lease, one after the other: what the lease before has begun has come to its end.
 * @param work ends when its lease has ended, and rejects at nothing
 * @param onStandby is told that nothing is done now: at first, and after each work
 */
export function workUnderLeases(work: (lease: Lease) => Promise<void>, onStandby: () => void): LeasedWork {
  const stopping = new AbortController();
  let running: Promise<void> = Promise.resolve();
  onStandby();
  return {
    working(lease) {
      if (!lease) return;
      running = running.then(async () => {
        await work({ ...lease, signal: AbortSignal.any([lease.signal, stopping.signal]) });
        onStandby();
      });
    },
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
