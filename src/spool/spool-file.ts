import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { releaseBytes } from '../core/release-bytes.ts';
import type { SealingKeys } from '../crypto/sealing.ts';
import { clearFormat, openDatabase, Reserve, sqliteFailure } from './database.ts';
import { RowProofs, type TableRow, upgradeRows } from './row-proofs.ts';
import { COLUMNS_SQL, COUNT_LATE_SQL, INSERT_SQL } from './schema.ts';
import {
  type LateCount,
  type LogDamage,
  type ReadLimits,
  type SpoolCounts,
  type SpoolRow,
  type SpoolState,
  type StoredRow,
  UNDAMAGED,
} from './spool-row.ts';
import { SpoolSpace } from './spool-space.ts';

/** The most bytes that a row needs in addition to its body. */
const ROW_BYTES = 1_024;
/** Free bytes that a full spool must have before it accepts deliveries again. */
const PROBE_BYTES = 256 * 1024;
const ANY = Number.POSITIVE_INFINITY;

/**
 * The file of the durable queue. Every call blocks its thread until the disk has finished. Calls throw the HooklineErrors
 * SPOOL_FULL and SPOOL_FAILING, the constructor SPOOL_IN_USE and SPOOL_INVALID too. After SPOOL_FAILING, close it and open
 * it again: after a failed sync the content of memory cannot be trusted, the content of the file can.
 */
export class SpoolFile {
  readonly #dir: string;
  readonly #reserve: Reserve;
  readonly #db: DatabaseSync;
  readonly #space: SpoolSpace;
  readonly #insert: StatementSync;
  readonly #lengths: StatementSync;
  readonly #select: StatementSync;
  readonly #delete: StatementSync;
  readonly #isLocked: StatementSync;
  #nextId: number;
  #rows: number;
  readonly #proofs: RowProofs;
  /** Rows that no sealing key opens: they stay in the file. */
  #keyMissing: number;
  /** Rows that had no seal when the file was opened. */
  readonly #unproven: number;
  #damage: LogDamage;
  /** The first row that can be opened; reads begin here. */
  readonly #firstId: number;

  /**
   * @param nextId the value of the previous SpoolFile of this folder, so that no id is used twice
   * @param damage what tries have found that failed
   * @param onDamage called when the log is found damaged: the rest of the opening may fail
   */
  constructor(options: {
    dir: string;
    maxBytes: number;
    nextId?: number;
    sealingKeys?: SealingKeys | undefined;
    damage?: LogDamage;
    onDamage?: (damage: LogDamage) => void;
  }) {
    this.#dir = options.dir;
    this.#reserve = new Reserve(options.dir);
    this.#damage = options.damage ?? UNDAMAGED;
    const onDamage = (copy: string | null) => {
      this.#damage = { isDamaged: true, damagedCopy: this.#damage.damagedCopy ?? copy };
      options.onDamage?.(this.#damage);
    };
    this.#db = this.#reserve.lend(() => openDatabase(options.dir, onDamage));
    this.#proofs = new RowProofs(options.sealingKeys);
    const { openable } = this.#proofs;
    try {
      this.#unproven = this.#reserve.lend(() => upgradeRows(this.#db, this.#proofs, options.dir));
      this.#space = new SpoolSpace(this.#db, this.#reserve, options);
      const { count, last, locked } = this.#row(
        `SELECT count(*) AS count, max(id) AS last, total(NOT ${openable}) AS locked FROM deliveries`,
      );
      this.#rows = Number(count);
      this.#keyMissing = Number(locked);
      const { id } = this.#row(`SELECT id FROM deliveries WHERE ${openable} ORDER BY id LIMIT 1`);
      this.#firstId = Number(id ?? 0);
      this.#nextId = Math.max(Number(last ?? 0) + 1, options.nextId ?? 1);
      this.#insert = this.#db.prepare(INSERT_SQL);
      // SQLite finds the length of a blob without reading it.
      this.#lengths = this.#db.prepare(
        `SELECT id, length(body) AS bytes FROM deliveries WHERE id > ? AND ${openable} ORDER BY id`,
      );
      this.#select = this.#db.prepare(`SELECT ${COLUMNS_SQL} FROM deliveries WHERE id = ?`);
      this.#delete = this.#db.prepare('DELETE FROM deliveries WHERE id = ?');
      this.#isLocked = this.#db.prepare(`SELECT NOT ${openable} AS locked FROM deliveries WHERE id = ?`);
    } catch (error) {
      this.#db.close();
      throw sqliteFailure(error, options.dir);
    }
  }

  /** Appends all rows in order, or none; when it returns they survive a loss of power. */
  append(rows: readonly SpoolRow[]): void {
    this.#space.require(
      this.#rows,
      rows.reduce((bytes, { body }) => bytes + body.byteLength + ROW_BYTES, 0),
    );
    this.#transaction(() => {
      for (const [n, row] of rows.entries()) {
        const { ref, subscriptionId, mediaType, receivedAt, traceparent } = row;
        const { id, keyId, proof, body } = this.#proofs.prove(row, this.#nextId + n);
        this.#insert.run(id, ref, subscriptionId, mediaType, receivedAt, traceparent, keyId, proof, body);
        if (body !== row.body) release(body);
      }
    });
    this.#nextId += rows.length;
    this.#rows += rows.length;
  }

  /** The oldest rows within the limits that can be opened, in order; one whatever `maxBytes`, if there is any. */
  read({ maxRows, maxBytes, after = 0, maxRowBytes = ANY, passOver }: ReadLimits): StoredRow[] {
    const from = Math.max(after, this.#firstId - 1);
    const ids: number[] = [];
    const found: StoredRow[] = [];
    try {
      let left = maxBytes;
      for (const { id, bytes } of this.#lengths.iterate(from)) {
        if (passOver?.has(Number(id))) continue;
        left -= Number(bytes);
        if (Number(bytes) > maxRowBytes || (left < 0 && ids.length > 0)) break;
        if (ids.push(Number(id)) >= maxRows) break;
      }
      for (const id of ids) {
        const { keyId, proof, ...stored } = { ...this.#select.get(id) } as unknown as TableRow;
        const body = this.#proofs.bodyOf({ ...stored, keyId, proof });
        if (body !== null && body !== stored.body) release(stored.body);
        found.push({ ...stored, body: body ?? stored.body, isChanged: body === null });
      }
    } catch (error) {
      throw sqliteFailure(error, this.#dir);
    }
    return found;
  }

  /** Those of these rows that are there and can be opened. */
  readable(ids: readonly number[]): number[] {
    return ids.filter((id) => this.#isLocked.get(id)?.locked === 0);
  }

  remove(ids: readonly number[]): void {
    this.#reserve.lend(() =>
      this.#transaction(() => {
        for (const id of ids) {
          this.#noteUnlocked(id);
          this.#rows -= Number(this.#delete.run(id).changes);
        }
      }),
    );
    if (this.#rows === 0) this.#space.shrink();
  }

  /** A row that was read before its key went from the file, and is removed now, is missing no more. */
  #noteUnlocked(id: number): void {
    if (this.#keyMissing > 0) this.#keyMissing -= Number({ ...this.#isLocked.get(id) }.locked ?? 0);
  }

  /** Throws if an append would fail: no space, or a disk that cannot be written. */
  probe(): void {
    if (this.#rows === 0) this.#space.shrink();
    this.#space.require(this.#rows, PROBE_BYTES);
    this.#transaction(() =>
      this.#db.exec(`PRAGMA user_version = ${this.#row('PRAGMA user_version').user_version}`),
    );
  }

  /**
   * Counts the rows that were received before `before`, and not before the last count's time. Reads only rows that were too
   * young for the last count: the whole table would take longer and longer during an outage.
   */
  countLate(last: LateCount, before: number): LateCount {
    const found = this.#db.prepare(COUNT_LATE_SQL).get(last.before, before, before, last.fromId);
    const { late, next } = { ...found };
    return { before, fromId: Number(next ?? this.#nextId), count: last.count + Number(late) };
  }

  /** What memory knows: also of a disk that cannot be read it is true of what was acknowledged. */
  get counts(): SpoolCounts {
    return {
      rows: this.#rows,
      keyMissing: this.#keyMissing,
      unproven: this.#unproven,
      ...this.#damage,
    };
  }

  state(): SpoolCounts & Pick<SpoolState, 'bytes' | 'oldestAt'> {
    // The head of the queue, not the minimum of all times: that would read the whole table at each commit, and every
    // answer would get slower during an outage.
    const { head } = this.#row('SELECT (SELECT received_at FROM deliveries ORDER BY id LIMIT 1) AS head');
    const oldestAt = typeof head === 'number' ? head : null;
    const bytes = this.#rows === 0 ? 0 : this.#space.usedBytes();
    return { ...this.counts, bytes, oldestAt };
  }

  /** The id that the next row gets. */
  get nextId(): number {
    return this.#nextId;
  }

  /** @param isLast whether the owner of the folder ends, too, and what opens the file next may be an older Hookline */
  close(isLast = false): void {
    if (isLast && this.#rows === 0) clearFormat(this.#db, this.#reserve);
    this.#db.close();
    if (this.#rows === 0) this.#space.discardShort();
  }

  #transaction(work: () => void): void {
    const rows = this.#rows;
    const keyMissing = this.#keyMissing;
    this.#space.beginWrite();
    try {
      this.#db.exec('BEGIN IMMEDIATE');
      work();
      this.#db.exec('COMMIT');
    } catch (error) {
      this.#rows = rows;
      this.#keyMissing = keyMissing;
      // After some failures SQLite has rolled back already.
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
      throw sqliteFailure(error, this.#dir);
    } finally {
      this.#space.endWrite();
    }
  }

  #row(sql: string): Record<string, unknown> {
    return { ...this.#db.prepare(sql).get() };
  }
}

const release = ({ buffer, byteOffset, byteLength }: Uint8Array) =>
  releaseBytes(Buffer.from(buffer, byteOffset, byteLength));
