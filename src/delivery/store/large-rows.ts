import type { LargeBodyPublisher } from '../../core/delivery.ts';
import { releaseBytes } from '../../core/release-bytes.ts';
import type { SpooledDelivery } from '../../spool/spool-row.ts';
import { type DrainPorts, drainLarge, persist, type VerifiedRow } from './drain-row.ts';
import { waitingRow } from './waiting-key.ts';
import type { WaitingRows } from './waiting-rows.ts';

/** Large rows of the spool: a thread publishes them, one at a time. */
export class LargeRows {
  readonly #ports: DrainPorts;
  readonly #large: LargeBodyPublisher;
  readonly #waiting: WaitingRows;

  constructor(ports: DrainPorts, large: LargeBodyPublisher, waiting: WaitingRows) {
    this.#ports = ports;
    this.#large = large;
    this.#waiting = waiting;
  }

  /** The next row. In the place of a body that is worked on: on its way here it is copied more than once. */
  async read(after: number, passOver?: ReadonlySet<number>): Promise<SpooledDelivery | undefined> {
    const limits = { maxRows: 1, maxBytes: 0, after, ...(passOver && { passOver }) };
    const read = () => this.#large.aside(() => this.#ports.spool.read(limits));
    return (await persist(this.#ports, read))[0];
  }

  /** @returns whether it is stored and removed; else it waits for the object store */
  async drain(row: VerifiedRow): Promise<boolean> {
    const isStored = !(await this.#mustWait(row)) && (await this.#publish(row));
    releaseBytes(row.delivery.body);
    return isStored;
  }

  async #publish(row: VerifiedRow): Promise<boolean> {
    const refusal = await drainLarge(row, this.#ports, this.#large);
    if (refusal) {
      this.#waiting.addRefused(waitingRow(row, true), await this.#orderOf(row), refusal);
      return false;
    }
    // First: a row that is removed must not count as one that waits.
    this.#waiting.end(waitingRow(row, true), true);
    await persist(this.#ports, () => this.#ports.spool.remove([row.id]));
    return true;
  }

  /** Whether the object store would not be tried, or a row of its key waits: which it is shows only when it is opened. */
  async #mustWait(row: VerifiedRow): Promise<boolean> {
    const isRefusing = this.#ports.delivery.claims?.refusal != null;
    if (!isRefusing && (this.#waiting.orders.size === 0 || this.#waiting.isInProgress(row.id))) return false;
    const order = await this.#orderOf(row);
    const mustWait = isRefusing || this.#waiting.mustWait(row.id, order);
    if (mustWait) this.#waiting.add(waitingRow(row, true), order);
    return mustWait;
  }

  async #orderOf({ delivery }: VerifiedRow): Promise<string> {
    return (await persist(this.#ports, () => this.#large.identify(delivery))).order;
  }
}
