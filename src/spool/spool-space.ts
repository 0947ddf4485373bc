import { rmSync, type Stats, statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { HooklineError, hasCode } from '../core/errors.ts';
import { FILE_NAME, LOG_NAME, RESERVE_BYTES, type Reserve, vacuum } from './database.ts';
import { PAGE_BYTES } from './schema.ts';

/** Rows are in the log alone until it is copied into the table. */
const FILES = [FILE_NAME, LOG_NAME];
/** An empty file with at least this many free pages is shrunk. */
const SHRINK_PAGES = 1_024;

/** The space that an open file of the spool has: on its volume, and by SPOOL_MAX_BYTES. */
export class SpoolSpace {
  readonly #db: DatabaseSync;
  readonly #reserve: Reserve;
  readonly #dir: string;
  readonly #maxBytes: number;
  /** Of {@link FILES}, which are open. */
  readonly #inodes: readonly (string | undefined)[];
  /** Of these too, behind the last write. */
  #sizes: readonly number[] = [];
  /** The one that something else has cut short, once it was seen: it has a hole when it is as long again. */
  #short: string | undefined;

  constructor(
    db: DatabaseSync,
    reserve: Reserve,
    options: { readonly dir: string; readonly maxBytes: number },
  ) {
    this.#db = db;
    this.#reserve = reserve;
    this.#dir = options.dir;
    this.#maxBytes = options.maxBytes;
    this.#inodes = this.#filesNow().map(inodeOf);
    this.endWrite();
  }

  /** Before anything is written: whether what was written before is still there. @returns {@link FILES} as they are now */
  beginWrite(): readonly (Stats | undefined)[] {
    const now = this.#filesNow();
    this.#short ??= FILES.find(
      (_, n) => this.#isOurs(now, n) && Number(now[n]?.size) < (this.#sizes[n] ?? 0),
    );
    return now;
  }

  /** Behind what was written, or has failed, and what SQLite has cut off itself. */
  endWrite(): void {
    this.#sizes = this.#filesNow().map((file) => file?.size ?? 0);
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
   * What is written to a file that was deleted, or lies in a folder that was replaced, is lost with this process, as is what
   * stands behind a hole. What such a file has is published from it as long as it is open.
   */
  #requireInPlace(rows: number): void {
    const now = this.beginWrite();
    const gone = FILES.find((_, n) => !this.#isOurs(now, n));
    if (gone === undefined && this.#short === undefined) return;
    const fault = gone
      ? `${gone} was deleted or replaced`
      : `${this.#short} was cut short by another program`;
    throw new HooklineError(rows > 0 ? 'SPOOL_FULL' : 'SPOOL_FAILING', fault);
  }

  #isOurs(now: readonly (Stats | undefined)[], n: number): boolean {
    return inodeOf(now[n]) === this.#inodes[n];
  }

  #filesNow(): (Stats | undefined)[] {
    return FILES.map((name) => statSync(join(this.#dir, name), { throwIfNoEntry: false }));
  }

  /** After the database was closed without rows: SQLite has copied the hole into the table, which cannot be read any more. */
  discardShort(): void {
    if (this.#short === undefined) return;
    const now = this.#filesNow();
    const ours = FILES.filter((_, n) => this.#isOurs(now, n));
    for (const name of ours.toReversed()) rmSync(join(this.#dir, name), { force: true });
  }

  /** Returns the space of an outage to the disk. Where the disk is too full for that, the next call tries again. */
  shrink(): void {
    if (this.freePages() < SHRINK_PAGES) return;
    this.beginWrite();
    try {
      this.#reserve.lend(() => vacuum(this.#db, this.freePages(), this.#dir));
    } catch (error) {
      if (!hasCode(error, 'SPOOL_FULL')) throw error;
    }
    this.endWrite();
  }

  usedBytes(): number {
    const { page_count: pages } = { ...this.#db.prepare('PRAGMA page_count').get() };
    return (Number(pages) - this.freePages()) * PAGE_BYTES;
  }

  freePages(): number {
    return Number({ ...this.#db.prepare('PRAGMA freelist_count').get() }.freelist_count);
  }
}

const inodeOf = (file: Stats | undefined) => file && `${file.dev} ${file.ino}`;
