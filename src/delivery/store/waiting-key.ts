import type { Clock } from '../../runtime/clock.ts';
import { type Backoff, delayBefore } from '../../runtime/retry.ts';
import type { SpooledDelivery } from '../../spool/spool-row.ts';

/** A row that waits. A large one is read and published by itself. */
export type WaitingRow = { readonly id: number; readonly bytes: number; readonly isLarge: boolean };

export const waitingRow = ({ id, delivery }: SpooledDelivery, isLarge = false): WaitingRow => ({
  id,
  isLarge,
  bytes: delivery.body.length,
});

/** 1, 2, 4 … 40 s, each shortened by up to a quarter: within the minute after which a store counts as available again. */
const AGAIN: Backoff = { firstMs: 1_000, factor: 2, maxMs: 40_000 };

/** Rows of one key, of which the first one waits, or waited: all are sent in their order. */
export class WaitingKey {
  readonly order: string;
  /** In the order of their arrival, without those in progress. */
  readonly rows: WaitingRow[] = [];
  /** Those that may be sent although earlier ones of the key waited. */
  readonly inProgress = new Set<number>();
  /** Those in progress that none behind them may pass: their object takes long, or they will have to wait. */
  readonly #blocking = new Set<number>();
  /** waiting: for the time of its next try; trying: its first row is in progress; open: all may follow, in their order. */
  #state: 'waiting' | 'trying' | 'open' = 'waiting';
  /** The first one was not refused by the object store, but by its topic: the state of the store does not matter to it. */
  #isForTopic = false;
  #failures = 0;
  #dueAt: number;

  constructor(order: string, now: number) {
    this.order = order;
    this.#dueAt = now;
  }

  get isWaiting(): boolean {
    return this.#state === 'waiting';
  }

  get isForTopic(): boolean {
    return this.#isForTopic;
  }

  get isEmpty(): boolean {
    return this.rows.length === 0 && this.inProgress.size === 0 && this.#blocking.size === 0;
  }

  isDueAt(now: number): boolean {
    return this.isWaiting && now >= this.#dueAt;
  }

  /**
   * The rows that may be tried next, in their order: the first alone when its time has come; when the one before is stored all of
   * them, up to one that blocks.
   */
  candidates(isDue: boolean): readonly WaitingRow[] {
    const isOpen = this.#state === 'open';
    if (!isOpen && !(this.isWaiting && isDue)) return [];
    const first = Math.min(...this.#blocking);
    const end = first === Number.POSITIVE_INFINITY ? -1 : this.rows.findIndex(({ id }) => id > first);
    const rows = end < 0 ? this.rows : this.rows.slice(0, end);
    return isOpen ? rows : rows.slice(0, 1);
  }

  /** Its first row waits again, and so do those behind it that are in progress. */
  wait(clock: Pick<Clock, 'now' | 'random'>, waitsFor: 'store' | 'topic'): void {
    this.#isForTopic = waitsFor === 'topic';
    const delayMs = this.#isForTopic ? AGAIN.firstMs : delayBefore(++this.#failures, AGAIN, clock.random);
    this.#state = 'waiting';
    for (const id of this.inProgress) this.#blocking.add(id);
    this.inProgress.clear();
    this.#dueAt = clock.now() + delayMs;
  }

  insert(row: WaitingRow): void {
    this.inProgress.delete(row.id);
    this.#blocking.delete(row.id);
    this.rows.splice(this.rows.findLastIndex(({ id }) => id < row.id) + 1, 0, row);
  }

  takeOut(id: number): void {
    const at = this.rows.findIndex((row) => row.id === id);
    if (at >= 0) this.rows.splice(at, 1);
  }

  /** @param isAlone none behind it may be sent before it is stored */
  begin(id: number, isAlone: boolean): void {
    this.inProgress.add(id);
    if (isAlone || this.isWaiting) this.#state = 'trying';
  }

  /** None behind this row in progress begins for now. */
  block(id: number): void {
    this.#blocking.add(id);
  }

  /** The row is sent: those behind it come behind it. */
  noteSent(id: number): void {
    this.#blocking.delete(id);
  }

  /** The row is stored. */
  leave(id: number): void {
    this.#blocking.delete(id);
    const wasAllowed = this.inProgress.delete(id);
    if (!wasAllowed || this.#state !== 'trying') return;
    this.#state = 'open';
    this.#isForTopic = false;
    this.#failures = 0;
  }
}
