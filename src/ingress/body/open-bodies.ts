import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { HooklineError } from '../../core/errors.ts';
import type { Clock, Timer } from '../../runtime/clock.ts';

const BODY = Symbol('the body that is arriving');

/** The latest body; those of earlier requests in its pipeline hang on it. */
type Connection = Socket & { [BODY]?: OpenBody | null };

const SWEEP_MS = 1_000;
/** The lowest average speed, once we have been ready to read for GRACE_MS. It bounds how long a body may take, not memory. */
const MIN_BYTES_PER_SECOND = 240;
const GRACE_MS = 5_000;

/**
 * The bodies that are arriving, of one connection as many as it has requests in its pipeline. A connection is registered
 * once, not for each of its requests; a body that is there at once is a property that is set and cleared.
 */
export class OpenBodies {
  readonly #connections = new Set<Connection>();
  readonly #clock: Clock;
  #sweeping: Timer | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Begins to watch the body of this connection's request. */
  add(socket: Socket, body: OpenBody): void {
    const connection: Connection = socket;
    if (connection[BODY] === undefined) this.#watch(connection);
    body.earlier = connection[BODY] ?? null;
    connection[BODY] = body;
  }

  /** This body arrives no more. That of the next request in the pipeline may have begun before this one is judged. */
  remove(socket: Socket, body: OpenBody): void {
    const connection: Connection = socket;
    if (connection[BODY] === body) connection[BODY] = body.earlier;
    else unlink(connection[BODY], body);
    body.earlier = null;
  }

  *[Symbol.iterator](): Iterator<OpenBody> {
    for (const connection of this.#connections)
      for (let body = connection[BODY]; body; body = body.earlier) yield body;
  }

  /** Ends the bodies that come too slowly: BODY_TOO_SLOW. */
  sweep(): void {
    const now = this.#clock.now();
    for (const body of this) {
      body.measure(now);
      if (body.isWhole || body.readyMs(now) < GRACE_MS) continue;
      if (body.averageSpeed(now) < MIN_BYTES_PER_SECOND) body.end(new HooklineError('BODY_TOO_SLOW'));
    }
  }

  #watch(connection: Connection): void {
    if (connection.destroyed) return;
    this.#connections.add(connection);
    this.#sweeping ??= this.#clock.every(SWEEP_MS, () => this.sweep(), { ref: false });
    connection.once('close', () => {
      this.#connections.delete(connection);
      if (this.#connections.size > 0) return;
      this.#sweeping?.cancel();
      this.#sweeping = undefined;
    });
  }
}

/** Whether the body that this connection sends waits for us: for memory, or for its key. */
export function waitsForUs(connection: Connection): boolean {
  const body = connection[BODY];
  return body ? body.isPaused || body.isWhole : false;
}

function unlink(latest: OpenBody | null | undefined, body: OpenBody): void {
  for (let later = latest; later; later = later.earlier) {
    if (later.earlier !== body) continue;
    later.earlier = body.earlier;
    return;
  }
}

/** What a body waits for, and which others may be ended for it. */
export type Shortage = {
  readonly bytes: number;
  /** Of the body that waits: nothing is taken from a better class. */
  readonly class: BodyClass;
  /** What ending a body would give. */
  readonly heldBy: (body: OpenBody) => number;
  /** Bytes per second below which a body is slow. */
  readonly slow: number;
  /** Nobody got anything for so long that fast ones give way too: those of worse classes, or of the same one as well. */
  readonly fastToo: 'none' | 'worse' | 'same';
  readonly now: number;
};

/** The bodies to end so that one that waits has its memory: the worst class first, in it the slowest first. */
export function chooseVictims(bodies: Iterable<OpenBody>, shortage: Shortage): OpenBody[] {
  const { bytes, heldBy, slow, fastToo, now } = shortage;
  const mayEnd = (body: OpenBody) => {
    if (body.isEnded || heldBy(body) === 0 || body.class > shortage.class) return false;
    if (fastToo === 'same' || (fastToo === 'worse' && body.class < shortage.class)) return true;
    return !body.isPaused && body.speed(now) < slow;
  };
  const all = [...bodies];
  const candidates = all
    .filter(mayEnd)
    .map((body) => ({ body, speed: body.speed(now) }))
    .sort((a, b) => a.body.class - b.body.class || (a.speed < b.speed ? -1 : a.speed > b.speed ? 1 : 0));
  const victims: OpenBody[] = [];
  // Others that were ended give theirs back in a moment.
  let given = all.reduce((sum, body) => sum + (body.isEnded ? heldBy(body) : 0), 0);
  for (const { body } of candidates) {
    if (given >= bytes) break;
    victims.push(body);
    given += heldBy(body);
  }
  return victims;
}

/** Whose body it is: of a request that cannot pass, of one that is not proved yet, or on a proven connection. */
export type BodyClass = 0 | 1 | 2;
export const CANNOT_PASS: BodyClass = 0;
export const UNPROVEN: BodyClass = 1;
export const PROVEN: BodyClass = 2;

/** How long we must have been ready for bytes before a speed means anything. */
const MEASURE_MS = 500;

const NOT_MEASURED = { bytes: 0, readyMs: 0, speed: Number.POSITIVE_INFINITY };

/**
 * A body that is arriving and not verified: what it holds, and how fast it comes. Only time in which we were ready to
 * read counts: a sender that waits for us is not slow.
 */
export class OpenBody {
  class: BodyClass = UNPROVEN;
  /** Arrived so far. */
  bytes = 0;
  /** Bytes of memory for arriving bodies that it holds, and how many of them it has not used yet. */
  charged = 0;
  reserved = 0;
  /** Bytes of memory for large bodies that it holds. */
  large = 0;
  /** Of those, the bytes that it is read into; 0 while it waits unread. */
  piece = 0;
  /** All of it has arrived, and it waits for its key. */
  isWhole = false;
  /** It was ended for others, and gives its memory back. */
  isEnded = false;
  /** Of the same connection, begun before it: an earlier request of its pipeline. */
  earlier: OpenBody | null = null;
  /** Ends it: what it holds is given back, its request is answered with the error. */
  end: (error: HooklineError) => void = () => {};

  #readyMs = 0;
  /** Undefined until the first measurement, so that one that is there at once costs nothing; null while it waits for us. */
  #readySince: number | null | undefined;
  /** The last measurement over at least MEASURE_MS. */
  #measured = NOT_MEASURED;

  /** It is not read for now. */
  pause(now: number): void {
    this.#readyMs = this.readyMs(now);
    this.#readySince = null;
  }

  /** It is read, now or again. */
  resume(now: number): void {
    if (typeof this.#readySince !== 'number') this.#readySince = now;
  }

  get isPaused(): boolean {
    return this.#readySince === null;
  }

  /** How long we have been ready to read it. */
  readyMs(now: number): number {
    return this.#readyMs + (typeof this.#readySince === 'number' ? now - this.#readySince : 0);
  }

  /** Bytes per second over all of that time. */
  averageSpeed(now: number): number {
    return (this.bytes / this.readyMs(now)) * 1_000;
  }

  /** Bytes per second since the last measurement; as measured before while too little time has passed. */
  speed(now: number): number {
    const { bytes, readyMs, speed } = this.#measured;
    const ms = this.readyMs(now) - readyMs;
    return ms < MEASURE_MS ? speed : ((this.bytes - bytes) / ms) * 1_000;
  }

  /** To be called about once a second. */
  measure(now: number): void {
    if (this.#readySince === undefined) this.#readySince = now;
    const readyMs = this.readyMs(now);
    if (readyMs - this.#measured.readyMs >= MEASURE_MS)
      this.#measured = { bytes: this.bytes, readyMs, speed: this.speed(now) };
  }
}

/** What the signatures of a connection have shown so far. */
export type ConnectionTrust = 'proven' | 'refuted' | 'unknown';

const TRUST = Symbol('what the signatures of a connection have shown');

type JudgedConnection = Duplex & { [TRUST]?: ConnectionTrust };

/**
 * Remembers that a webhook with a valid signature came over this connection: it stays proven.
 * @param socket the one of the request: with TLS the TLSSocket, not the TCP socket below it
 */
export function markProven(socket: Duplex): void {
  // A property costs the hot path less than a WeakMap.
  (socket as JudgedConnection)[TRUST] = 'proven';
}

/** Remembers that a request was answered 401, whatever the reason: its sender knows no more than that either. */
export function markRefuted(socket: Duplex): void {
  if (!isProven(socket)) (socket as JudgedConnection)[TRUST] = 'refuted';
}

export const trustOf = (socket: Duplex): ConnectionTrust => (socket as JudgedConnection)[TRUST] ?? 'unknown';

export const isProven = (socket: Duplex): boolean => trustOf(socket) === 'proven';
