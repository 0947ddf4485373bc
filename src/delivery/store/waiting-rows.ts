import type { HooklineError } from '../../core/errors.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { ClaimCheck } from '../claim-check.ts';
import { TriedRows } from './tried-rows.ts';
import { WaitingKey, type WaitingRow } from './waiting-key.ts';

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
  readonly #keys = new Map<string, WaitingKey>();
  readonly #waiting = new Map<number, WaitingKey>();
  readonly #large = new Set<number>();
  readonly #tried = new TriedRows();
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

  get smallInProgress(): number {
    return this.#tried.small;
  }

  /** With those in progress. */
  get count(): number {
    return this.#waiting.size + this.#tried.size;
  }

  has(id: number): boolean {
    return this.#waiting.has(id);
  }

  get ids(): Iterable<number> {
    return this.#waiting.keys();
  }

  /** With the one in progress. */
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
    return this.#tried.has(id);
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
   * These rows are in progress and not yet sent: the object of the first takes long, or an earlier row of the key waits. Later
   * ones wait.
   */
  addUnsent(ids: readonly number[], order: string, why: string): void {
    // One that was tried as another record, such as an event before its dead-letter record, holds the key of that.
    const own = ids.filter((id) => (this.#tried.keyOf(id)?.order ?? order) === order);
    if (own.length === 0) return;
    const isAllowed = !this.#keys.has(order);
    if (isAllowed) this.#why = why;
    const key = this.#keyOf(order);
    for (const id of own) {
      key.block(id);
      if (this.#tried.has(id)) continue;
      this.#tried.add(id, key);
      if (isAllowed) key.begin(id, true);
    }
  }

  /**
   * The rows to try now, in the order of each key: up to `maxRows`, small ones up to `maxBytes`, at least one where there is any,
   * and one large one; none whose last try has not ended, nor those behind it: that end would count as the end of this try.
   */
  next({ maxRows, maxBytes, withLarge, tried, upTo }: NextRows): WaitingRow[] {
    if (this.size === 0) return [];
    this.#claims?.probe();
    const now = this.#clock.now();
    const hasTrouble = this.#claims?.trouble != null;
    const isTrial = hasTrouble && this.#isTrialDue;
    const isDue = (key: WaitingKey) =>
      now >= this.#pausedUntil && (hasTrouble && !key.isForTopic ? isTrial : key.isDueAt(now));
    const found: WaitingRow[] = [];
    let hasLarge = !withLarge || this.#tried.hasLarge;
    let left = maxBytes;
    for (const key of this.#keys.values()) {
      const before = found.length;
      for (const row of key.candidates(isDue(key))) {
        // A large one is published with none beside it of its key: those before it are stored first.
        const mayBegin = row.isLarge
          ? !hasLarge && row === key.rows[0] && key.inProgress.size === 0
          : left === maxBytes || row.bytes <= left;
        if (!mayBegin || found.length >= maxRows || tried.has(row.id) || row.id > upTo) break;
        found.push(row);
        hasLarge ||= row.isLarge;
        if (row.isLarge) break;
        left -= row.bytes;
      }
      if (left <= 0 || found.length >= maxRows) break;
      if (isTrial && !key.isForTopic && found.length > before) break;
    }
    return found;
  }

  /** A row of {@link next} is tried. */
  begin(row: WaitingRow): void {
    const key = this.#takeOut(row.id);
    if (key) this.#tried.begin(row, key);
  }

  /** Its object is stored, or it needs none: whether its topic takes it shows nothing of the store. */
  noteSent(id: number): void {
    this.#tried.noteSent(id);
  }

  /** A row that waits is in the spool no more, or no sealing key opens it: it is there again when it is read again. */
  forget(id: number): void {
    const key = this.#takeOut(id);
    if (key) this.#leave(id, key);
  }

  /** A row that was tried is stored; or it is not, for another reason than the object store. */
  end(row: WaitingRow, isStored: boolean): void {
    const key = this.#tried.keyOf(row.id);
    if (!key) return;
    if (isStored) return this.#leave(row.id, key);
    if (key.inProgress.has(row.id)) this.#hold(key, 'topic');
    this.#insert(row, this.#keyOf(key.order));
  }

  /** A message is awaited, and none is on its way. */
  get #isTrialDue(): boolean {
    const isAwaited = this.#claims?.isMessageAwaited === true && this.#claims.refusal === null;
    return isAwaited && !this.#tried.hasTrial;
  }

  #keyOf(order: string): WaitingKey {
    const known = this.#keys.get(order);
    if (known) return known;
    const key = new WaitingKey(order, this.#clock.now());
    this.#keys.set(order, key);
    this.#observer.held(order);
    return key;
  }

  /** Those behind it that are in progress must wait, too. */
  #hold(key: WaitingKey, waitsFor: 'store' | 'topic' = 'store'): void {
    if (!key.isWaiting) this.#pausedUntil = this.#clock.now() + PAUSE_MS;
    key.wait(this.#clock, waitsFor);
    this.#keys.delete(key.order);
    this.#keys.set(key.order, key);
  }

  #insert(row: WaitingRow, key: WaitingKey): void {
    if (this.#waiting.has(row.id)) return;
    // It has become another record than before, such as a dead-letter record.
    const before = this.#tried.keyOf(row.id);
    if (before && before !== key) this.#leave(row.id, before);
    this.#tried.end(row.id);
    this.#waiting.set(row.id, key);
    if (row.isLarge) this.#large.add(row.id);
    key.insert(row);
  }

  #leave(id: number, key: WaitingKey): void {
    this.#tried.end(id);
    this.#large.delete(id);
    key.leave(id);
    this.#dropEmpty(key);
  }

  #takeOut(id: number): WaitingKey | undefined {
    const key = this.#waiting.get(id);
    this.#waiting.delete(id);
    key?.takeOut(id);
    return key;
  }

  #dropEmpty(key: WaitingKey): void {
    // A row of the key that ends later can have made another one of it.
    if (key.isEmpty && this.#keys.get(key.order) === key) this.#keys.delete(key.order);
  }
}
