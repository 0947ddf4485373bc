import { setTimeout as sleep } from 'node:timers/promises';
import { HooklineError } from '../../core/errors.ts';
import { AttemptError, toAttemptError } from './produce-batch.ts';
import type { ProducerSession } from './producer-session.ts';

const ATTEMPT_MS = 5_000;
/** Least time between two openings: while all brokers are away every lane doubts its session. */
const OPEN_EVERY_MS = 200;

export type SessionPoolParts = {
  /** Opens a session; the number counts the openings. */
  readonly open: (rotation: number) => ProducerSession;
  /**
   * After it an attempt is in doubt, whatever the client still waits for; and so long after its retirement at the latest
   * a session is cut, whatever its last attempt still waits for.
   */
  readonly attemptMs?: number;
  readonly onOpened: () => void;
  readonly onOpenFailed: (error: unknown) => void;
};

type Held = { readonly session: ProducerSession; attempts: number };

/**
 * A live session, shared by lanes. On doubt it is retired and a fresh one is opened, while the attempts of
 * other lanes that run over the old one may end; after the last of them its sockets are cut, so that a retired client
 * can never write again.
 */
export class SessionPool {
  readonly #parts: SessionPoolParts;
  readonly #attemptMs: number;
  #rotation = 0;
  #openedAt = Number.NEGATIVE_INFINITY;
  #opening: Promise<Held> | undefined;
  #current: Held | undefined;
  readonly #retired = new Set<Held>();
  #underWay = 0;
  #sumOfStarts = 0;
  #closed = false;

  constructor(parts: SessionPoolParts) {
    this.#parts = parts;
    this.#attemptMs = parts.attemptMs ?? ATTEMPT_MS;
  }

  /**
   * How long its attempts under way have waited in all, in milliseconds, each counting one more: one that hangs weighs as
   * much as many that just began.
   * @param now on the clock of `performance.now()`
   */
  loadAt(now: number): number {
    return this.#underWay * (now + 1) - this.#sumOfStarts;
  }

  /**
   * Runs one attempt over the live session, within `attemptMs`. On doubt the session is retired; with `freshOnRetry`
   * also when the broker only asked to try again.
   * @throws AttemptError, or HooklineError PUBLISHER_CLOSED after `close`
   */
  async attempt<T>(work: (session: ProducerSession) => Promise<T>, freshOnRetry = false): Promise<T> {
    const start = performance.now();
    this.#underWay++;
    this.#sumOfStarts += start;
    try {
      return await this.#attempt(work, freshOnRetry);
    } finally {
      this.#underWay--;
      this.#sumOfStarts = this.#underWay === 0 ? 0 : this.#sumOfStarts - start;
    }
  }

  close(): void {
    this.#closed = true;
    for (const held of [this.#current, ...this.#retired]) if (held) this.#cut(held);
    this.#current = undefined;
  }

  async #attempt<T>(work: (session: ProducerSession) => Promise<T>, freshOnRetry: boolean): Promise<T> {
    const held = this.#current ?? (await this.#fresh());
    held.attempts++;
    try {
      return await within(this.#attemptMs, work(held.session));
    } catch (error) {
      const failure = toAttemptError(error);
      if (failure.outcome === 'doubt' || (failure.outcome === 'retry' && freshOnRetry)) this.#retire(held);
      throw failure;
    } finally {
      held.attempts--;
      if (held.attempts === 0 && held !== this.#current) this.#cut(held);
    }
  }

  #fresh(): Promise<Held> {
    // Cleared before anyone sees the session: whoever comes after its retirement opens another.
    this.#opening ??= this.#openNext().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  /** An opening makes no connection yet: it fails only on certificate or password files that can't be read now. */
  async #openNext(): Promise<Held> {
    for (;;) {
      const wait = this.#openedAt + OPEN_EVERY_MS - performance.now();
      if (wait > 0) await sleep(wait);
      if (this.#closed) throw new HooklineError('PUBLISHER_CLOSED');
      this.#openedAt = performance.now();
      try {
        this.#current = { session: this.#parts.open(this.#rotation++), attempts: 0 };
        this.#parts.onOpened();
        return this.#current;
      } catch (error) {
        this.#parts.onOpenFailed(error);
      }
    }
  }

  #retire(held: Held): void {
    if (held !== this.#current) return;
    this.#current = undefined;
    this.#retired.add(held);
    if (held.attempts === 0) this.#cut(held);
    else setTimeout(() => this.#cut(held), this.#attemptMs).unref();
  }

  #cut(held: Held): void {
    this.#retired.delete(held);
    held.session.cut();
  }
}

/** The attempt, or doubt when the time is up: its end is then of no interest any more. */
function within<T>(ms: number, attempt: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new AttemptError('doubt', `no answer within ${ms} ms`)), ms);
    attempt.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

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
