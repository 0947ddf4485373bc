import { rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { hasCode } from '../core/errors.ts';
import { sqliteFailure } from './database.ts';

/** What a removal writes, and the pages of the log that go into the table after it, a few times over. */
export const RESERVE_BYTES = 4 * 1024 * 1024;
export const RESERVE_NAME = 'spool.reserve';

/**
 * Room on the volume that is taken beforehand. What is taken out of the spool is written too: on a disk that others
 * have filled to its last byte nothing could be taken out any more, and the spool would stay in use with Kafka back.
 */
export class Reserve {
  readonly #path: string;

  constructor(dir: string) {
    this.#path = join(dir, RESERVE_NAME);
  }

  get isTaken(): boolean {
    return statSync(this.#path, { throwIfNoEntry: false })?.size === RESERVE_BYTES;
  }

  /** @throws HooklineError SPOOL_FULL, SPOOL_FAILING */
  take(): void {
    try {
      writeFileSync(this.#path, Buffer.alloc(RESERVE_BYTES), { mode: 0o600 });
    } catch (error) {
      rmSync(this.#path, { force: true });
      throw sqliteFailure(error, this.#path);
    }
  }

  /** Does `work`, and where the disk is too full for it, does it again in the room of the reserve. */
  lend<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      if (!hasCode(error, 'SPOOL_FULL') || !this.isTaken) throw error;
      rmSync(this.#path, { force: true });
      return work();
    }
  }
}
