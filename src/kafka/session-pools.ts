import { SessionPool, type SessionPoolParts } from './session-pool.ts';

/**
 * As many clients, and so connections to each broker. A broker takes the next request of a connection when it has
 * answered the one before: over a single one all lanes wait for the slowest partition, as for one that takes in 50 MB.
 */
const POOLS = 8;

/** The live sessions, which the lanes share out. */
export class SessionPools {
  readonly #pools: readonly SessionPool[];
  #given = 0;

  constructor(parts: SessionPoolParts) {
    this.#pools = Array.from({ length: POOLS }, () => new SessionPool(parts));
  }

  /** For what is asked once in a while. */
  get first(): SessionPool {
    return this.#pools[0] as SessionPool;
  }

  /** For the next lane. */
  next(): SessionPool {
    return this.#pools[this.#given++ % POOLS] as SessionPool;
  }

  close(): void {
    for (const pool of this.#pools) pool.close();
  }
}
