import { LARGE_BODY_BYTES } from '../../core/delivery.ts';
import type { SpooledDelivery } from '../../spool/spool-row.ts';
import { type DrainPorts, persist } from './drain-row.ts';
import type { WaitingRows } from './waiting-rows.ts';

/**
 * Reads the spool's rows in their order, each once; once more those that were skipped, and all when other sealing keys are in
 * use: they may open rows that stand before others, and those that wait may have no key any more.
 */
export class RowReader {
  readonly #ports: DrainPorts;
  readonly #waiting: WaitingRows;
  /** Rows that are in progress. */
  readonly #taken: ReadonlySet<number>;
  #lastRead = 0;
  #keyRenewals: number;
  /** Rows that were read before the keys were renewed, and that may wait. */
  readonly #unsure = new Set<number>();

  constructor(ports: DrainPorts, waiting: WaitingRows, taken: ReadonlySet<number>) {
    this.#ports = ports;
    this.#waiting = waiting;
    this.#taken = taken;
    this.#keyRenewals = ports.spool.keyRenewals;
  }

  /** Rows behind this one are still to be read. */
  get lastRead(): number {
    return this.#lastRead;
  }

  /** The next row to read is this one, or an earlier one. */
  goBackTo(id: number): void {
    this.#lastRead = Math.min(this.#lastRead, id - 1);
  }

  /** What comes up to this one needs not be read. */
  skipTo(id: number): void {
    this.#lastRead = Math.max(this.#lastRead, id);
  }

  /** Whether the keys in use open every row that waits. */
  get isSure(): boolean {
    return this.#unsure.size === 0 && this.#keyRenewals === this.#ports.spool.keyRenewals;
  }

  /** After a renewal of the keys: reads from the beginning again, and forgets the rows that wait without a key. */
  async followKeys(): Promise<void> {
    const { spool } = this.#ports;
    const isRenewed = spool.keyRenewals !== this.#keyRenewals;
    if (isRenewed) {
      this.#keyRenewals = spool.keyRenewals;
      this.#lastRead = 0;
      for (const ids of [this.#waiting.ids, this.#taken]) for (const id of ids) this.#unsure.add(id);
    }
    // One in progress that no key opens may wait when that has ended.
    const asked = isRenewed ? [...this.#unsure] : [...this.#unsure].filter((id) => !this.#taken.has(id));
    if (asked.length === 0) return;
    const readable = await persist(this.#ports, () => spool.readable(asked));
    for (const id of asked) {
      const isReadable = readable.has(id);
      if (isReadable || !this.#taken.has(id)) this.#unsure.delete(id);
      if (!isReadable && this.#waiting.has(id)) this.#waiting.forget(id);
    }
  }

  /** The next rows, up to a large one that does not wait. */
  async read(limits: { readonly maxRows: number; readonly maxBytes: number }): Promise<SpooledDelivery[]> {
    const { spool, large } = this.#ports;
    const where = { after: this.#lastRead, passOver: this.#waiting.large };
    const upToLarge = large && { maxRowBytes: LARGE_BODY_BYTES };
    return persist(this.#ports, () => spool.read({ ...limits, ...where, ...upToLarge }));
  }
}
