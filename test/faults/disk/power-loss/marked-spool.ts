import { openSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { systemClock } from '../../../../src/runtime/clock.ts';
import { Spool } from '../../../../src/spool/spool.ts';
import type { SpooledDelivery } from '../../../../src/spool/spool-row.ts';
import { verified } from '../../../support/delivery-parts.ts';
import type { DiskFault } from '../shim/build-shim.ts';
import { bodyOf, numberOf } from './bodies.ts';
import { sealingKeysOf } from './sealing.ts';

export type Place = {
  readonly dir: string;
  readonly marksFile: string;
  readonly faultFile: string;
  /** Rows are sealed with it; null where there is none. */
  readonly sealingKey: string | null;
};

const MAX_BYTES = 1_500_000;

/** The real spool on the shim's disk; what it was asked and answered goes as marks into the recording. */
export class MarkedSpool {
  readonly #place: Place;
  readonly #marks: number;
  #next: number;
  #spool: Spool | undefined;

  /** @param first the number of the first delivery: they go on over several lives of a folder */
  constructor(place: Place, first: number) {
    this.#place = place;
    this.#marks = openSync(place.marksFile, 'w');
    this.#next = first;
  }

  async open(): Promise<void> {
    const onDeath = (error: Error) => {
      throw error;
    };
    const { dir, sealingKey } = this.#place;
    this.#spool = await Spool.open({
      clock: systemClock,
      dir,
      maxBytes: MAX_BYTES,
      sealingKeys: sealingKeysOf(sealingKey),
      onDeath,
    });
  }

  async close(): Promise<void> {
    await this.#open.close();
  }

  get #open(): Spool {
    if (this.#spool === undefined) throw new Error('it is not open');
    return this.#spool;
  }

  /** @returns whether it was stored */
  async append(size: number): Promise<boolean> {
    const n = this.#next++;
    this.#mark(`append ${n} ${size}`);
    try {
      await this.#open.append(verified(bodyOf(n, size), 'octet-stream'));
    } catch {
      return false;
    }
    this.#mark(`acked ${n}`);
    return true;
  }

  /** The oldest; none while the disk fails. */
  oldest(maxRows: number): Promise<SpooledDelivery[]> {
    return this.#open.read({ maxRows, maxBytes: 400_000 }).catch(() => []);
  }

  /** @returns whether they were removed */
  remove(rows: readonly SpooledDelivery[]): Promise<boolean> {
    this.#mark(`removing ${rows.map(({ delivery }) => numberOf(delivery.body)).join(' ')}`);
    return this.#open.remove(rows.map(({ id }) => id)).then(
      () => true,
      () => false,
    );
  }

  /** Lets the disk fail from now on. */
  fail(fault: DiskFault): void {
    writeFileSync(this.#place.faultFile, fault);
  }

  fix(): void {
    rmSync(this.#place.faultFile, { force: true });
  }

  #mark(text: string): void {
    writeSync(this.#marks, text);
  }
}
