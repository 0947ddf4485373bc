import type { ProducerSession } from './producer-session.ts';
import { SessionPool, type SessionPoolParts } from './session-pool.ts';

/**
 * The live sessions, each with connections of its own. A broker takes the next request of a connection when it has
 * answered the one before: over a single one all lanes wait for the slowest partition, as for one that takes in 50 MB.
 */
export class SessionPools {
  readonly #pools: readonly SessionPool[];
  #opened = 0;
  #asked = 0;

  constructor(count: number, parts: SessionPoolParts) {
    // Counted over all: their seed brokers are turned, so that not all begin at one that hangs.
    const open = () => parts.open(this.#opened++);
    this.#pools = Array.from({ length: count }, () => new SessionPool({ ...parts, open }));
  }

  /** The one for the next batch: what waits there for its answers has waited least. */
  leastBusy(): SessionPool {
    const now = performance.now();
    let [best, least] = [this.#pools[0] as SessionPool, Number.POSITIVE_INFINITY];
    for (const pool of this.#pools) {
      const load = pool.loadAt(now);
      if (load < least) [best, least] = [pool, load];
    }
    return best;
  }

  /** Runs one attempt over the next session in turn, so that all are looked at after a while. */
  attempt<T>(work: (session: ProducerSession) => Promise<T>): Promise<T> {
    const pool = this.#pools[this.#asked++ % this.#pools.length] as SessionPool;
    return pool.attempt(work);
  }

  /** Runs an attempt over every session; when all have ended, fails as the first that did. */
  async everywhere(work: (session: ProducerSession) => Promise<unknown>): Promise<void> {
    const ends = await Promise.allSettled(this.#pools.map((pool) => pool.attempt(work)));
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
  }

  close(): void {
    for (const pool of this.#pools) pool.close();
  }
}
