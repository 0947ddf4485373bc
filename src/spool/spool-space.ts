import { statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { HooklineError } from '../core/errors.ts';
import { FILE_NAME, LOG_NAME, RESERVE_BYTES, type Reserve } from './database.ts';
import { PAGE_BYTES } from './schema.ts';

/** Rows are in the log alone until it is copied into the table. */
const FILES = [FILE_NAME, LOG_NAME];

/** The space that an open file of the spool has: on its volume, and by SPOOL_MAX_BYTES. */
export class SpoolSpace {
  readonly #db: DatabaseSync;
  readonly #reserve: Reserve;
  readonly #dir: string;
  readonly #maxBytes: number;
  /** Of {@link FILES}, which are open. */
  readonly #inodes: readonly (string | undefined)[];

  constructor(
    db: DatabaseSync,
    reserve: Reserve,
    options: { readonly dir: string; readonly maxBytes: number },
  ) {
    this.#db = db;
    this.#reserve = reserve;
    this.#dir = options.dir;
    this.#maxBytes = options.maxBytes;
    this.#inodes = this.#inodesNow();
  }

  /**
   * Requires space for more bytes in the log and, unless the table has free pages, in the table too: a log that cannot be
   * copied into its table cannot be emptied, and then no row could be removed any more.
   * @param rows that the file has
   * @throws HooklineError SPOOL_FULL; SPOOL_FAILING where the file is to be opened anew
   */
  require(rows: number, bytes: number): void {
    this.#requireInPlace(rows);
    if (this.usedBytes() + bytes > this.#maxBytes) throw new HooklineError('SPOOL_FULL', 'SPOOL_MAX_BYTES');
    const { bavail, bsize } = statfsSync(this.#dir);
    const log = statSync(join(this.#dir, LOG_NAME), { throwIfNoEntry: false });
    const intoTable = Math.max(0, bytes + (log?.size ?? 0) - this.freePages() * PAGE_BYTES);
    const needed = bytes + intoTable + (this.#reserve.isTaken ? 0 : RESERVE_BYTES);
    if (bavail * bsize < needed)
      throw new HooklineError('SPOOL_FULL', `the volume has ${bavail * bsize} bytes left`);
    if (!this.#reserve.isTaken) this.#reserve.take();
  }

  /**
   * What is written to a file that was deleted, or lies in a folder that was replaced, is lost with this process. What such a
   * file has is published from it as long as it is open.
   */
  #requireInPlace(rows: number): void {
    const now = this.#inodesNow();
    const gone = FILES.find((_, n) => now[n] !== this.#inodes[n]);
    if (gone === undefined) return;
    throw new HooklineError(rows > 0 ? 'SPOOL_FULL' : 'SPOOL_FAILING', `${gone} was deleted or replaced`);
  }

  #inodesNow(): (string | undefined)[] {
    return FILES.map((name) => {
      const file = statSync(join(this.#dir, name), { throwIfNoEntry: false });
      return file && `${file.dev} ${file.ino}`;
    });
  }

  usedBytes(): number {
    const { page_count: pages } = { ...this.#db.prepare('PRAGMA page_count').get() };
    return (Number(pages) - this.freePages()) * PAGE_BYTES;
  }

  freePages(): number {
    return Number({ ...this.#db.prepare('PRAGMA freelist_count').get() }.freelist_count);
  }
}
