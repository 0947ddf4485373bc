import type { ProducerSession } from './producer-session.ts';
import { SessionPool, type SessionPoolParts } from './session-pool.ts';

/**
 * The live sessions, each with connections of its own, which the lanes share out. A broker takes the next request of a
 * connection when it has answered the one before: over a single one all lanes wait for the slowest partition, as for one
 * that takes in 50 MB.
 */
export class SessionPools {
  readonly #pools: readonly SessionPool[];
  #asked = 0;
  #given = 0;

  constructor(count: number, parts: SessionPoolParts) {
    this.#pools = Array.from({ length: count }, () => new SessionPool(parts));
  }

  /** For the next lane. */
  next(): SessionPool {
    return this.#inTurn(this.#given++);
  }

  /** Runs one attempt over the next session in turn, so that all are looked at after a while. */
  attempt<T>(work: (session: ProducerSession) => Promise<T>): Promise<T> {
    return this.#inTurn(this.#asked++).attempt(work);
  }

  /** Runs an attempt over every session; fails with the first that does. */
  async everywhere(work: (session: ProducerSession) => Promise<unknown>): Promise<void> {
    await Promise.all(this.#pools.map((pool) => pool.attempt(work)));
  }

  close(): void {
    for (const pool of this.#pools) pool.close();
  }

  #inTurn(n: number): SessionPool {
    return this.#pools[n % this.#pools.length] as SessionPool;
  }
}
