import type { HooklineError } from '../../core/errors.ts';
import type { Clock } from '../../runtime/clock.ts';
import { type Backoff, delayBefore } from '../../runtime/retry.ts';
import type { SpooledDelivery } from '../../spool/spool-row.ts';
import type { ClaimCheck } from '../claim-check.ts';

/** A row that waits. A large one is read and published by itself. */
export type WaitingRow = { readonly id: number; readonly bytes: number; readonly isLarge: boolean };

export const waitingRow = ({ id, delivery }: SpooledDelivery, isLarge = false): WaitingRow => ({
  ...{ id, isLarge, bytes: delivery.body.length },
});

/** 1, 2, 4 … 40 s, each shortened by up to a quarter: within the minute after which a store counts as available again. */
const AGAIN: Backoff = { firstMs: 1_000, factor: 2, maxMs: 40_000 };
/** After a row that was read again for nothing no other one is, however many there are: each may have 50 MB. */
const PAUSE_MS = 1_000;

/** What is known of the store, and how to find out more. */
type StoreState = Pick<ClaimCheck, 'trouble' | 'refusal' | 'isMessageAwaited' | 'probe'>;

export type WaitingObserver = {
  /** Rows of this key wait from now on; see {@link orderKey}. */
  held(order: string): void;
  /** The store takes others, and not this one. */
  refused(error: HooklineError): void;
};

export type NextRows = {
  readonly maxRows: number;
  readonly maxBytes: number;
  readonly withLarge: boolean;
  /** The rows of which a try has not ended. */
  readonly tried: ReadonlySet<number>;
  /** The last row that was read: before a later one, an earlier one of its key may still be read again. */
  readonly upTo: number;
};

type Key = {
  readonly order: string;
  /** In the order of their arrival, without those in progress. */
  readonly rows: WaitingRow[];
  /** Those that may be sent although earlier ones of the key waited. */
  readonly inProgress: Set<number>;
  /** waiting: for the time of its next try; trying: its first row is in progress; open: all may follow, in their order. */
  state: 'waiting' | 'trying' | 'open';
  failures: number;
  dueAt: number;
};

/**
 * Rows of the spool that wait for the object store: by key, the first one that it does not take, and later ones behind it.
 * They stay in the spool. The first of a key is tried again with a backoff of the key's own, the others follow when it is
 * stored. While the store takes nothing at all none is tried, until it takes the object of a check: then a single one.
 */
export class WaitingRows {
  readonly #claims: StoreState | undefined;
  readonly #clock: Clock;
  readonly #observer: WaitingObserver;
  /** Those that were tried last are last. */
  readonly #keys = new Map<string, Key>();
  readonly #waiting = new Map<number, Key>();
  readonly #large = new Set<number>();
  readonly #inProgress = new Map<number, Key>();
  #pausedUntil = 0;
  #why = '';

  constructor(claims: StoreState | undefined, clock: Clock, observer: WaitingObserver) {
    this.#claims = claims;
    this.#clock = clock;
    this.#observer = observer;
  }

  /** Without those in progress. */
  get size(): number {
    return this.#waiting.size;
  }

  has(id: number): boolean {
    return this.#waiting.has(id);
  }

  /** Without those in progress. */
  get ids(): Iterable<number> {
    return this.#waiting.keys();
  }

  /** The large ones. */
  get large(): ReadonlySet<number> {
    return this.#large;
  }

  /** The keys of all rows that wait or are in progress. */
  get orders(): Pick<ReadonlySet<string>, 'size' | 'has'> {
    return this.#keys;
  }

  /** Why the last one was not taken. */
  get why(): string {
    return this.#why;
  }

  isInProgress(id: number): boolean {
    return this.#inProgress.has(id);
  }

  /** Whether it must wait behind an earlier row of its key. */
  mustWait(id: number, order: string): boolean {
    const key = this.#keys.get(order);
    return key !== undefined && !key.inProgress.has(id);
  }

  /** It waits behind an earlier one of its key, or the store would not be tried. */
  add(row: WaitingRow, order: string): void {
    const key = this.#keyOf(order);
    if (key.inProgress.has(row.id)) this.#hold(key);
    this.#insert(row, key);
  }

  /** The store did not take its object. */
  addRefused(row: WaitingRow, order: string, error: HooklineError): void {
    const isFirst = !this.#keys.has(order);
    const key = this.#keyOf(order);
    if (isFirst || key.inProgress.has(row.id)) this.#hold(key);
    this.#insert(row, key);
    this.#why = error.message;
    // A store that takes nothing at all is reported by itself.
    if (isFirst && this.#claims?.trouble == null) this.#observer.refused(error);
  }

  /**
   * The rows to try now, in the order of each key: up to `maxRows`, small ones up to `maxBytes`, at least one where there is any,
   * and one large one; none whose last try has not ended, nor those behind it: that end would count as the end of this try.
   */
  next({ maxRows, maxBytes, withLarge, tried, upTo }: NextRows): WaitingRow[] {
    if (this.size === 0) return [];
    this.#claims?.probe();
    const hasTrouble = this.#claims?.trouble != null;
    const isTrial = hasTrouble && this.#isTrialDue;
    const isPaused = this.#clock.now() < this.#pausedUntil;
    const isDue = ({ state, dueAt }: Key) =>
      state === 'waiting' && (isTrial || (!hasTrouble && this.#clock.now() >= dueAt));
    const found: WaitingRow[] = [];
    let hasLarge = !withLarge;
    let left = maxBytes;
    for (const key of this.#keys.values()) {
      const rows = key.state === 'open' ? key.rows : key.rows.slice(0, !isPaused && isDue(key) ? 1 : 0);
      for (const row of rows) {
        // A large one is published with nothing beside it: those before it of its key are stored first.
        const mayBegin = row.isLarge
          ? !hasLarge && row === key.rows[0] && key.inProgress.size === 0
          : left === maxBytes || row.bytes <= left;
        if (!mayBegin || found.length >= maxRows || tried.has(row.id) || row.id > upTo) break;
        found.push(row);
        hasLarge ||= row.isLarge;
        if (row.isLarge) break;
        left -= row.bytes;
      }
      if (left <= 0 || found.length >= maxRows || (isTrial && found.length > 0)) break;
    }
    return found;
  }

  /** A row of {@link next} is tried. */
  begin({ id }: WaitingRow): void {
    const key = this.#takeOut(id);
    if (!key) return;
    this.#inProgress.set(id, key);
    key.inProgress.add(id);
    if (key.state === 'waiting') key.state = 'trying';
  }

  /** A row that waits is in the spool no more, or no sealing key opens it: it is there again when it is read again. */
  forget(id: number): void {
    const key = this.#takeOut(id);
    if (key) this.#dropEmpty(key);
  }

  /** A row that was tried is stored; or it is not, for another reason than the object store. */
  end(row: WaitingRow, isStored: boolean): void {
    const key = this.#inProgress.get(row.id);
    if (!key) return;
    if (isStored) return this.#leave(row.id, key);
    if (key.inProgress.has(row.id)) this.#hold(key, AGAIN.firstMs);
    this.#insert(row, this.#keyOf(key.order));
  }

  /** A message is awaited, and none is on its way. */
  get #isTrialDue(): boolean {
    const isAwaited = this.#claims?.isMessageAwaited === true && this.#claims.refusal === null;
    return isAwaited && this.#inProgress.size === 0;
  }

  #keyOf(order: string): Key {
    const known = this.#keys.get(order);
    if (known) return known;
    const key: Key = {
      ...{ order, rows: [], inProgress: new Set<number>(), state: 'waiting', failures: 0 },
      dueAt: this.#clock.now(),
    };
    this.#keys.set(order, key);
    this.#observer.held(order);
    return key;
  }

  /** Those behind it that are in progress must wait, too. */
  #hold(key: Key, delayMs = delayBefore(++key.failures, AGAIN, this.#clock.random)): void {
    const now = this.#clock.now();
    if (key.state !== 'waiting') this.#pausedUntil = now + PAUSE_MS;
    key.state = 'waiting';
    key.inProgress.clear();
    key.dueAt = now + delayMs;
    this.#keys.delete(key.order);
    this.#keys.set(key.order, key);
  }

  #insert(row: WaitingRow, key: Key): void {
    if (this.#waiting.has(row.id)) return;
    // It has become another record than before, such as a dead-letter record.
    const before = this.#inProgress.get(row.id);
    if (before && before !== key) this.#leave(row.id, before);
    this.#inProgress.delete(row.id);
    key.inProgress.delete(row.id);
    this.#waiting.set(row.id, key);
    if (row.isLarge) this.#large.add(row.id);
    key.rows.splice(key.rows.findLastIndex(({ id }) => id < row.id) + 1, 0, row);
  }

  #leave(id: number, key: Key): void {
    this.#inProgress.delete(id);
    const wasAllowed = key.inProgress.delete(id);
    if (wasAllowed && key.state === 'trying') Object.assign(key, { state: 'open', failures: 0 });
    this.#dropEmpty(key);
  }

  #takeOut(id: number): Key | undefined {
    const key = this.#waiting.get(id);
    this.#waiting.delete(id);
    this.#large.delete(id);
    const at = key?.rows.findIndex((row) => row.id === id) ?? -1;
    if (at >= 0) key?.rows.splice(at, 1);
    return key;
  }

  #dropEmpty(key: Key): void {
    // A row of the key that ends later can have made another one of it.
    const isKnown = this.#keys.get(key.order) === key;
    if (isKnown && key.rows.length === 0 && key.inProgress.size === 0) this.#keys.delete(key.order);
  }
}
