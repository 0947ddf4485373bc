import type { Clock, Timer } from '../../runtime/clock.ts';
import { reasonOf } from './admission-queue.ts';
import type { ConnectionTrust } from './open-bodies.ts';

/** What is read in one turn: about half a millisecond's work. */
const TURN_BYTES = 256 * 1024;
const TURN_MS = 1;
/** After the last small body, until large ones are read at full speed again. */
const QUIET_MS = 100;
/** How much of turns that came late is made up for. */
const SAVED_BYTES = 2 * 1024 * 1024;
/**
 * What is paid back of what was read beyond a turn. The first piece of each body comes unasked: thousands of connections
 * would otherwise run up a debt of minutes, in which no body has a turn.
 */
const MAX_OWED_BYTES = TURN_BYTES;
/** What Node reads of a socket at once. */
const PIECE_BYTES = 64 * 1024;

/** Node has read some 100 KiB ahead for each one that waits, which is not counted. */
const MAX_READERS = 2_048;

/** The order in which bodies have their turns: by `tag`, and of one tag by `n`. */
export type Ticket = {
  readonly tag: number;
  readonly n: number;
  /** The body's bytes, by its weight. */
  readonly cost: number;
};

const isBefore = (a: Ticket, b: Ticket): boolean => a.tag < b.tag || (a.tag === b.tag && a.n < b.n);

/** The ticket of what is only read to be discarded: behind all others. */
export const LAST_TICKET: Ticket = {
  tag: Number.POSITIVE_INFINITY,
  n: 0,
  cost: Number.POSITIVE_INFINITY,
};
/**
 * A body on a proven connection has as large a share as 64 others: one of 50 MB goes before all that are larger than 1 MiB,
 * and they are still read. One on a connection that sent wrong signatures has a sixteenth of one that nothing is known of.
 */
const WEIGHTS: Readonly<Record<ConnectionTrust, number>> = { proven: 64, unknown: 1, refuted: 1 / 16 };

/** Bytes per second that are read of all large bodies together. */
export type Pace = {
  /** While small bodies come. */
  readonly beside: number;
  /** While none do. */
  readonly alone: number;
};

type Reader = {
  readonly ticket: Ticket;
  readonly resume: () => void;
  /** Ends it where too many wait; what has none has memory of its own that bounds how many there are. */
  readonly drop?: (() => void) | undefined;
};

/**
 * Lets large bodies share time and processor with everybody else. Node would read two megabytes of each socket before
 * it reads the next, and hash them meanwhile. Of bodies of one size the one that came first is read first: five that
 * were read side by side would all be whole five times as late, and nothing could be done with any of them before.
 *
 * The order is that of weighted fair queueing: a body is read before those that would still have bytes to come if all
 * were read side by side when it has none. So a small one does not wait behind all of a flood of the largest.
 */
export class Throttle {
  #pace: Pace;
  /** Small bodies that have come, and how many had when the last of them was noticed. */
  #small = 0;
  #noticed = 0;
  #noticedAt = Number.NEGATIVE_INFINITY;
  /** Of this turn; less than nothing where a piece was larger than the rest. */
  #left = TURN_BYTES;
  #saved = 0;
  readonly #clock: Clock;
  #countedAt: number;
  /** In the order of their tickets. */
  readonly #queue: Reader[] = [];
  #turn: Timer | undefined;
  #tickets = 0;
  /** How many bytes each body would have by now if all were read side by side. */
  #fair = 0;
  /** Whether the last turn was given to a body that has read nothing in it yet. */
  #isUnused = false;
  /** Bodies that have a ticket. */
  #open = 0;

  constructor(pace: Pace, clock: Clock) {
    this.#pace = pace;
    this.#clock = clock;
    this.#countedAt = clock.now();
  }

  /** A small body comes: large ones give way from their next turn on. */
  smallCame(): void {
    this.#small++;
  }

  /** The ticket of a body that may have so many bytes. `endTicket` is to be called when it is read no more. */
  nextTicket(bytes: number, trust: ConnectionTrust = 'unknown'): Ticket {
    this.#open++;
    const cost = bytes / WEIGHTS[trust];
    return { tag: this.#fair + cost, n: this.#tickets++, cost };
  }

  /** It waits for no turn any more: it would take one for nothing. */
  endTicket(ticket: Ticket): void {
    this.#open--;
    const at = this.#queue.findIndex((reader) => reader.ticket === ticket);
    if (at >= 0) this.#queue.splice(at, 1);
  }

  /**
   * Counts what was read. False means: no more now, and `resume` is called when it is that ticket's turn again; or `drop`,
   * where more than MAX_READERS wait and this is the last of them.
   */
  consume(bytes: number, ticket: Ticket, resume: () => void, drop?: () => void): boolean {
    this.#isUnused = false;
    if (ticket !== LAST_TICKET) this.#count(bytes);
    this.#left = Math.max(this.#left - bytes, -MAX_OWED_BYTES);
    if (this.#left > 0) return true;
    this.#enqueue({ ticket, resume, drop });
    return false;
  }

  /**
   * Waits for the first turn of that ticket.
   * @param gone ends the wait with its reason, or because the sender has gone
   * @throws HooklineError BODY_INCOMPLETE where `gone`
   */
  async firstTurn(ticket: Ticket, gone: AbortSignal): Promise<void> {
    if (gone.aborted) throw reasonOf(gone);
    const { promise, resolve } = Promise.withResolvers<void>();
    gone.addEventListener('abort', () => resolve());
    this.#enqueue({ ticket, resume: resolve });
    await promise;
    if (gone.aborted) throw reasonOf(gone);
  }

  /** From now on they are read as fast as turns come: the process stops, and small ones are sent to other processes. */
  disable(): void {
    this.#pace = { beside: Number.MAX_SAFE_INTEGER, alone: Number.MAX_SAFE_INTEGER };
  }

  /** Whether no small body has come for a while. */
  isQuiet(now: number): boolean {
    if (this.#small !== this.#noticed) {
      this.#noticed = this.#small;
      this.#noticedAt = now;
    }
    return now - this.#noticedAt >= QUIET_MS;
  }

  #enqueue(reader: Reader): void {
    const behind = this.#queue.findIndex(({ ticket }) => isBefore(reader.ticket, ticket));
    this.#queue.splice(behind < 0 ? this.#queue.length : behind, 0, reader);
    if (this.#queue.length > MAX_READERS) this.#dropLast();
    this.#awaitTurn();
  }

  #dropLast(): void {
    const last = this.#queue.findLastIndex(({ drop }) => drop !== undefined);
    if (last >= 0) this.#queue.splice(last, 1)[0]?.drop?.();
  }

  #awaitTurn(): void {
    this.#turn ??= this.#clock.after(TURN_MS, () => {
      this.#turn = undefined;
      this.#giveTurn();
    });
  }

  /** To one at a time: a body that cannot be read now, since nothing has arrived, leaves the rest to the next one a turn later. */
  #giveTurn(): void {
    const now = this.#clock.now();
    const earned =
      ((now - this.#countedAt) / 1_000) * (this.isQuiet(now) ? this.#pace.alone : this.#pace.beside);
    this.#countedAt = now;
    const all = Math.min(SAVED_BYTES, this.#saved + this.#left + earned);
    this.#left = Math.min(TURN_BYTES, all);
    this.#saved = all - this.#left;
    const next = this.#left < PIECE_BYTES ? undefined : this.#queue.shift();
    if (this.#queue.length > 0) this.#awaitTurn();
    if (!next) return;
    // It took the turn from others all the same. Senders that begin bodies and stop would otherwise come first for ever.
    if (this.#isUnused) this.#count(TURN_BYTES);
    this.#isUnused = next.ticket !== LAST_TICKET;
    next.resume();
  }

  #count(bytes: number): void {
    this.#fair += bytes / Math.max(1, this.#open);
  }
}
