import { statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { HooklineError, hasCode } from '../core/errors.ts';
import type { SealingKeys } from '../crypto/sealing.ts';
import {
  COLUMNS_SQL,
  INSERT_SQL,
  LOG_NAME,
  openDatabase,
  PAGE_BYTES,
  RESERVE_BYTES,
  Reserve,
  sqliteFailure,
} from './database.ts';
import { RowProofs, type TableRow, upgradeRows } from './row-proofs.ts';
import type { ReadLimits, SpoolRow, SpoolState, StoredRow } from './spool-row.ts';

/** What a row takes beside its body, at most. */
const ROW_BYTES = 1_024;
/** Room that a spool which was full has again before it takes more. */
const PROBE_BYTES = 256 * 1024;
/** Free pages from which on the file is made smaller when it is empty. */
const SHRINK_PAGES = 1_024;
/** What is given back at once: SQLite first writes as much into the log, and the reserve must do for it. */
const VACUUM_PAGES = 512;

/**
 * The durable queue's file. Every call blocks its thread until the disk has done it, and throws a HooklineError:
 * SPOOL_FULL and SPOOL_FAILING, and where it is opened SPOOL_IN_USE and SPOOL_INVALID. After SPOOL_FAILING it must be
 * closed and opened anew: what a failed sync leaves in memory can't be trusted, what is in the file can.
 */
export class SpoolFile {
  readonly #dir: string;
  readonly #maxBytes: number;
  readonly #reserve: Reserve;
  readonly #db: DatabaseSync;
  readonly #insert: StatementSync;
  readonly #select: StatementSync;
  readonly #delete: StatementSync;
  #nextId: number;
  #rows: number;
  readonly #proofs: RowProofs;
  /** Rows whose key is not here: they stay, as nobody can open them. */
  readonly #keyMissing: number;
  /** Nothing up to this id can be read: mostly rows whose key is not here. */
  readonly #firstId: number;

  /** @param nextId of one that was opened before: an id that was given is never given again */
  constructor(options: {
    dir: string;
    maxBytes: number;
    nextId?: number;
    sealingKeys?: SealingKeys | undefined;
  }) {
    this.#dir = options.dir;
    this.#maxBytes = options.maxBytes;
    this.#reserve = new Reserve(options.dir);
    this.#db = this.#reserve.lend(() => openDatabase(options.dir));
    this.#proofs = new RowProofs(options.sealingKeys);
    const { openable } = this.#proofs;
    try {
      this.#reserve.lend(() => upgradeRows(this.#db, this.#proofs, options.dir));
      const { count, last, locked } = this.#row(
        `SELECT count(*) AS count, max(id) AS last, total(NOT ${openable}) AS locked FROM deliveries`,
      );
      this.#rows = Number(count);
      this.#keyMissing = Number(locked);
      const { id } = this.#row(`SELECT id FROM deliveries WHERE ${openable} ORDER BY id LIMIT 1`);
      this.#firstId = Number(id ?? 0);
      this.#nextId = Math.max(Number(last ?? 0) + 1, options.nextId ?? 1);
      this.#insert = this.#db.prepare(INSERT_SQL);
      this.#select = this.#db.prepare(
        `SELECT ${COLUMNS_SQL} FROM deliveries WHERE id > ? AND ${openable} ORDER BY id`,
      );
      this.#delete = this.#db.prepare('DELETE FROM deliveries WHERE id = ?');
    } catch (error) {
      this.#db.close();
      throw sqliteFailure(error, options.dir);
    }
  }

  /** Appends rows in their order, all or none; when it returns they outlast a loss of power. */
  append(rows: readonly SpoolRow[]): void {
    this.#mustHaveRoom(rows.reduce((bytes, { body }) => bytes + body.byteLength + ROW_BYTES, 0));
    this.#transaction(() => {
      for (const [n, row] of rows.entries()) {
        const { ref, subscriptionId, mediaType, receivedAt, traceparent } = row;
        const { id, keyId, proof, body } = this.#proofs.prove(row, this.#nextId + n);
        this.#insert.run(id, ref, subscriptionId, mediaType, receivedAt, traceparent, keyId, proof, body);
      }
    });
    this.#nextId += rows.length;
    this.#rows += rows.length;
  }

  /** The oldest rows whose key is here, in order: at least one, where there is one, then as many as fit into `maxRows` and `maxBytes`. */
  read({ maxRows, maxBytes, after = 0 }: ReadLimits): StoredRow[] {
    const found: StoredRow[] = [];
    let bytes = 0;
    try {
      for (const row of this.#select.iterate(Math.max(after, this.#firstId - 1))) {
        const { keyId, proof, ...stored } = { ...row } as unknown as TableRow;
        bytes += stored.body.byteLength;
        if (found.length > 0 && bytes > maxBytes) break;
        const body = this.#proofs.bodyOf({ ...stored, keyId, proof });
        found.push({ ...stored, body: body ?? stored.body, isChanged: body === null });
        if (found.length >= maxRows) break;
      }
    } catch (error) {
      throw sqliteFailure(error, this.#dir);
    }
    return found;
  }

  remove(ids: readonly number[]): void {
    this.#reserve.lend(() =>
      this.#transaction(() => {
        for (const id of ids) this.#rows -= Number(this.#delete.run(id).changes);
      }),
    );
    this.#shrink();
  }

  /** Throws where an append would fail: there is no space, or nothing can be written. */
  probe(): void {
    this.#shrink();
    this.#mustHaveRoom(PROBE_BYTES);
    this.#transaction(() =>
      this.#db.exec(`PRAGMA user_version = ${this.#row('PRAGMA user_version').user_version}`),
    );
  }

  state(): SpoolState {
    // The head of the queue, not the minimum: that would read the whole table at each commit, and the longer the outage,
    // the slower every answer.
    const { head } = this.#row('SELECT (SELECT received_at FROM deliveries ORDER BY id LIMIT 1) AS head');
    const oldestAt = typeof head === 'number' ? head : null;
    const bytes = this.#rows === 0 ? 0 : this.#usedBytes();
    return { rows: this.#rows, bytes, oldestAt, keyMissing: this.#keyMissing };
  }

  /** The id that the next row gets. */
  get nextId(): number {
    return this.#nextId;
  }

  close(): void {
    this.#db.close();
  }

  #transaction(work: () => void): void {
    const rows = this.#rows;
    try {
      this.#db.exec('BEGIN IMMEDIATE');
      work();
      this.#db.exec('COMMIT');
    } catch (error) {
      this.#rows = rows;
      // Some failures have rolled it back already.
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
      throw sqliteFailure(error, this.#dir);
    }
  }

  /**
   * Room for the rows in the log and, once more, in the table, where it has no free pages: a log that can't be copied
   * into its table can't be emptied either, and then nothing could be taken out any more.
   */
  #mustHaveRoom(bytes: number): void {
    if (this.#usedBytes() + bytes > this.#maxBytes) throw new HooklineError('SPOOL_FULL', 'SPOOL_MAX_BYTES');
    const { bavail, bsize } = statfsSync(this.#dir);
    const log = statSync(join(this.#dir, LOG_NAME), { throwIfNoEntry: false });
    const intoTable = Math.max(0, bytes + (log?.size ?? 0) - this.#freePages() * PAGE_BYTES);
    const needed = bytes + intoTable + (this.#reserve.isTaken ? 0 : RESERVE_BYTES);
    if (bavail * bsize < needed)
      throw new HooklineError('SPOOL_FULL', `the volume has ${bavail * bsize} bytes left`);
    if (!this.#reserve.isTaken) this.#reserve.take();
  }

  #usedBytes(): number {
    const { page_count: pages } = this.#row('PRAGMA page_count');
    return (Number(pages) - this.#freePages()) * PAGE_BYTES;
  }

  #freePages(): number {
    return Number(this.#row('PRAGMA freelist_count').freelist_count);
  }

  /** Gives the disk back what an outage took of it; where even that fails, at the next look. */
  #shrink(): void {
    if (this.#rows > 0 || this.#freePages() < SHRINK_PAGES) return;
    try {
      this.#reserve.lend(() => this.#vacuum());
    } catch (error) {
      if (!hasCode(error, 'SPOOL_FULL')) throw error;
    }
  }

  #vacuum(): void {
    try {
      for (let left = this.#freePages(); left > 0; left -= VACUUM_PAGES) {
        this.#db.exec(`PRAGMA incremental_vacuum(${VACUUM_PAGES})`);
        this.#db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
      }
    } catch (error) {
      throw sqliteFailure(error, this.#dir);
    }
  }

  #row(sql: string): Record<string, unknown> {
    return { ...this.#db.prepare(sql).get() };
  }
}
