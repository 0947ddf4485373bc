import { HooklineError } from '../../core/errors.ts';
import type { Clock } from '../../runtime/clock.ts';
import { AttemptError, toAttemptError } from './attempt-error.ts';
import type { ProducerSession } from './producer-session.ts';

const ATTEMPT_MS = 5_000;
/** Shortest time between two openings: while all brokers are unavailable every partition queue requests a new session. */
const OPEN_EVERY_MS = 200;

export type SessionPoolDeps = {
  /** Opens a session; the number counts the openings. */
  readonly open: (rotation: number) => ProducerSession;
  /**
   * After it the outcome of an attempt counts as unknown, whatever the client still waits for; and a retired session is
   * destroyed after this time at the latest.
   */
  readonly attemptMs?: number;
  readonly clock: Clock;
  readonly onOpened: () => void;
  readonly onOpenFailed: (error: unknown) => void;
};

type Held = { readonly session: ProducerSession; attempts: number };

/**
 * A live session, shared by partition queues. After an attempt with an unknown outcome it is retired and a new one is
 * opened, while the attempts of other queues over the old one may end; after the last of them its sockets are destroyed,
 * so that a retired client can never write again.
 */
export class SessionPool {
  readonly #deps: SessionPoolDeps;
  readonly #attemptMs: number;
  #rotation = 0;
  #openedAt = Number.NEGATIVE_INFINITY;
  #opening: Promise<Held> | undefined;
  #current: Held | undefined;
  readonly #retired = new Set<Held>();
  #inProgress = 0;
  #sumOfStarts = 0;
  #closed = false;

  constructor(deps: SessionPoolDeps) {
    this.#deps = deps;
    this.#attemptMs = deps.attemptMs ?? ATTEMPT_MS;
  }

  /**
   * How long its attempts in progress have waited in all, in milliseconds, each counting one more: one that hangs weighs as
   * much as many that just began.
   * @param now on the clock of `clock.now()`
   */
  loadAt(now: number): number {
    return this.#inProgress * (now + 1) - this.#sumOfStarts;
  }

  /**
   * Runs one attempt over the live session, within `attemptMs`. With an unknown outcome the session is retired; with
   * `freshOnRetry` also when the broker only asked to try again.
   * @throws AttemptError, or HooklineError PUBLISHER_CLOSED after `close`
   */
  async attempt<T>(work: (session: ProducerSession) => Promise<T>, freshOnRetry = false): Promise<T> {
    const start = this.#deps.clock.now();
    this.#inProgress++;
    this.#sumOfStarts += start;
    try {
      return await this.#attempt(work, freshOnRetry);
    } finally {
      this.#inProgress--;
      this.#sumOfStarts = this.#inProgress === 0 ? 0 : this.#sumOfStarts - start;
    }
  }

  /** Cuts all its connections: the outcome of what is in flight is unknown, and the next attempt opens a new session. */
  cut(): void {
    for (const held of [this.#current, ...this.#retired]) if (held) this.#destroy(held);
    this.#current = undefined;
  }

  close(): void {
    this.#closed = true;
    this.cut();
  }

  async #attempt<T>(work: (session: ProducerSession) => Promise<T>, freshOnRetry: boolean): Promise<T> {
    const held = this.#current ?? (await this.#fresh());
    held.attempts++;
    try {
      return await this.#within(held.session, work(held.session));
    } catch (error) {
      const failure = toAttemptError(error);
      if (failure.outcome === 'unknown' || (failure.outcome === 'retry' && freshOnRetry)) this.#retire(held);
      throw failure;
    } finally {
      held.attempts--;
      if (held.attempts === 0 && held !== this.#current) this.#destroy(held);
    }
  }

  /** The attempt, or an unknown outcome when the time is up: how it ends is then ignored. */
  #within<T>(session: ProducerSession, attempt: Promise<T>): Promise<T> {
    const ms = this.#attemptMs;
    return new Promise((resolve, reject) => {
      const late = () =>
        reject(session.late?.(ms) ?? new AttemptError('unknown', `no answer within ${ms} ms`));
      const timer = this.#deps.clock.after(ms, late);
      attempt.then(resolve, reject).finally(() => timer.cancel());
    });
  }

  #fresh(): Promise<Held> {
    // Cleared before the session is used: an attempt after its retirement opens another.
    this.#opening ??= this.#openNext().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  /** An opening makes no connection yet: it fails only on certificate or password files that can't be read now. */
  async #openNext(): Promise<Held> {
    const { clock } = this.#deps;
    for (;;) {
      const wait = this.#openedAt + OPEN_EVERY_MS - clock.now();
      if (wait > 0) await clock.sleep(wait);
      if (this.#closed) throw new HooklineError('PUBLISHER_CLOSED');
      this.#openedAt = clock.now();
      try {
        this.#current = { session: this.#deps.open(this.#rotation++), attempts: 0 };
        this.#deps.onOpened();
        return this.#current;
      } catch (error) {
        this.#deps.onOpenFailed(error);
      }
    }
  }

  #retire(held: Held): void {
    if (held !== this.#current) return;
    this.#current = undefined;
    this.#retired.add(held);
    if (held.attempts === 0) this.#destroy(held);
    else this.#deps.clock.after(this.#attemptMs, () => this.#destroy(held), { ref: false });
  }

  #destroy(held: Held): void {
    this.#retired.delete(held);
    held.session.destroy();
  }
}

/**
 * The live sessions, each with connections of its own. A broker takes the next request of a connection when it has
 * answered the one before: over a single one all queues wait for the slowest partition, such as one that receives 50 MB.
 */
export class SessionPools {
  readonly #pools: readonly SessionPool[];
  readonly #clock: Clock;
  #opened = 0;
  #ofThisTurn: SessionPool | undefined;
  #asked = 0;

  constructor(count: number, deps: SessionPoolDeps) {
    this.#clock = deps.clock;
    // Counted over all: each begins with another seed broker, so that not all begin at one that hangs.
    const open = () => deps.open(this.#opened++);
    this.#pools = Array.from({ length: count }, () => new SessionPool({ ...deps, open }));
  }

  /** The one for the next batch: what waits there for its answers has waited least. */
  leastBusy(): SessionPool {
    const now = this.#clock.now();
    let best = this.#pools[0] as SessionPool;
    let least = Number.POSITIVE_INFINITY;
    for (const pool of this.#pools) {
      const load = pool.loadAt(now);
      if (load < least) [best, least] = [pool, load];
    }
    return best;
  }

  /** The least busy one, and the same for all that ask until the next tick: their batches share requests. */
  ofThisTurn(): SessionPool {
    if (!this.#ofThisTurn) {
      this.#ofThisTurn = this.leastBusy();
      void this.#clock.tick().then(() => {
        this.#ofThisTurn = undefined;
      });
    }
    return this.#ofThisTurn;
  }

  /** Runs one attempt over the next session in turn, so that all are used after a while. */
  attempt<T>(work: (session: ProducerSession) => Promise<T>): Promise<T> {
    const pool = this.#pools[this.#asked++ % this.#pools.length] as SessionPool;
    return pool.attempt(work);
  }

  /** Runs an attempt over every session; when all have ended, fails as the first that did. */
  async everywhere(work: (session: ProducerSession) => Promise<unknown>): Promise<void> {
    const ends = await Promise.allSettled(this.#pools.map((pool) => pool.attempt(work)));
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
  }

  cut(): void {
    for (const pool of this.#pools) pool.cut();
  }

  close(): void {
    for (const pool of this.#pools) pool.close();
  }
}
