import type { DatabaseSync } from 'node:sqlite';
import { hasCode } from '../core/errors.ts';
import {
  checksumOf,
  isChecksum,
  openRow,
  type RowKey,
  rowKeysOf,
  type SealingKeys,
  sealRow,
} from '../crypto/sealing.ts';
import { sqliteFailure } from './database.ts';
import { ADD_COLUMNS_SQL, CHECKSUMS, COLUMNS_SQL, PLAIN, SEALED } from './schema.ts';
import type { SpoolRow } from './spool-row.ts';

/** A row of the table. */
export type TableRow = SpoolRow & {
  readonly id: number;
  /** Id of the key that sealed it; null where it only has a checksum. */
  readonly keyId: string | null;
  /** Proves that it is unchanged: iv and tag, or the checksum; null in a file of an older format. */
  readonly proof: Uint8Array | null;
};

/** Seals rows if there is a sealing key, else adds a checksum; checks whether a row is unchanged. */
export class RowProofs {
  readonly #current: RowKey | undefined;
  readonly #keys: ReadonlyMap<string, RowKey>;
  /** Rows up to this id may have no seal: their format is older, and there was no space to seal them. */
  plainUpTo = 0;

  constructor(keys: SealingKeys | undefined) {
    const rowKeys = keys ? rowKeysOf(keys) : [];
    this.#current = rowKeys[0];
    this.#keys = new Map(rowKeys.map((key) => [key.id, key]));
  }

  get isSealing(): boolean {
    return this.#current !== undefined;
  }

  /** SQL that is true for rows that a sealing key opens, or that have none. */
  get openable(): string {
    const ids = [...this.#keys.keys()].map((id) => `'${id}'`);
    return `(key_id IS NULL OR key_id IN (${ids.join(', ')}))`;
  }

  /** The row as it is stored under this id. */
  prove(row: SpoolRow, id: number): TableRow {
    const keyId = this.#current?.id ?? null;
    const aad = columnsOf({ ...row, id, keyId });
    if (this.#current) return { ...row, id, keyId, ...sealRow(this.#current, aad, row.body) };
    return { ...row, id, keyId, proof: checksumOf(aad, row.body) };
  }

  /** The body, or null if anything in the row was changed since it was stored. */
  bodyOf(row: TableRow): Uint8Array | null {
    const { id, keyId, proof, body } = row;
    if (keyId !== null) {
      const key = this.#keys.get(keyId);
      return key && proof ? openRow(key, columnsOf(row), proof, body) : null;
    }
    if (this.isSealing && id > this.plainUpTo) return null;
    if (proof === null) return id <= this.plainUpTo ? body : null;
    return isChecksum(proof, columnsOf(row), body) ? body : null;
  }
}

/** Additional authenticated data: every column but body and proof, so that no two rows have the same. */
function columnsOf(row: Omit<TableRow, 'proof' | 'body'>): Buffer {
  const { id, ref, subscriptionId, mediaType, receivedAt, traceparent, keyId } = row;
  const columns = [
    'hookline spool row 1',
    id,
    ref,
    subscriptionId,
    mediaType,
    receivedAt,
    traceparent,
    keyId,
  ];
  return Buffer.from(JSON.stringify(columns));
}

/** Limits of one transaction of an upgrade, as the log needs space for it in addition to the table. */
const MAX_ROWS = 500;
const MAX_BYTES = 4 * 1024 * 1024;

/**
 * Seals the rows of a file that was written without a sealing key or by an older Hookline, once. Without a key, rows of an
 * older format get a checksum. A row with a wrong checksum stays as it is and counts as changed. If the disk has no space
 * for the upgrade, the rows are accepted as they are, and the next opening tries again.
 * @returns how many rows had no seal although there is a key: nothing proves where they come from
 */
export function upgradeRows(db: DatabaseSync, proofs: RowProofs, dir: string): number {
  const number = (sql: string) => Number(Object.values({ ...db.prepare(sql).get() })[0] ?? 0);
  const format = number('PRAGMA user_version');
  const wanted = proofs.isSealing ? SEALED : CHECKSUMS;
  if (format === wanted) return 0;
  const hasColumns = number("SELECT count(*) FROM pragma_table_info('deliveries') WHERE name = 'key_id'") > 0;
  const unsealed = hasColumns ? ' WHERE key_id IS NULL' : '';
  const unproven = proofs.isSealing ? number(`SELECT count(*) FROM deliveries${unsealed}`) : 0;
  try {
    if (!hasColumns) db.exec(ADD_COLUMNS_SQL);
    if (format === PLAIN) proofs.plainUpTo = number('SELECT max(id) FROM deliveries');
    if (format < wanted) sealAll(db, proofs, format);
    // Without a key, sealed rows stay sealed; new rows have a checksum, and are sealed once there is a key again.
    db.exec(`PRAGMA user_version = ${wanted}`);
    proofs.plainUpTo = 0;
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    const failure = sqliteFailure(error, dir);
    if (!hasColumns || !hasCode(failure, 'SPOOL_FULL')) throw failure;
  }
  return unproven;
}

function sealAll(db: DatabaseSync, proofs: RowProofs, format: number): void {
  // Overwrite freed pages with zeros. What remains inside a page is gone when the spool is drained and shrinks.
  db.exec('PRAGMA secure_delete = ON');
  const lastOf = db.prepare('SELECT max(id) AS last FROM deliveries').get();
  proofs.plainUpTo = Number({ ...lastOf }.last ?? 0);
  const select = db.prepare(
    `SELECT ${COLUMNS_SQL} FROM deliveries WHERE id > ? AND key_id IS NULL ORDER BY id`,
  );
  const update = db.prepare('UPDATE deliveries SET key_id = ?, proof = ?, body = ? WHERE id = ?');
  let after = 0;
  for (let batch = take(); batch.length > 0; batch = take()) {
    db.exec('BEGIN IMMEDIATE');
    for (const row of batch) {
      const isIntact = row.proof === null ? format === PLAIN : proofs.bodyOf(row) !== null;
      if (!isIntact) continue;
      const { keyId, proof, body } = proofs.prove(row, row.id);
      update.run(keyId, proof, body, row.id);
    }
    db.exec('COMMIT');
    after = batch.at(-1)?.id ?? after;
  }
  db.exec('PRAGMA secure_delete = OFF');

  function take(): TableRow[] {
    const rows: TableRow[] = [];
    let bytes = 0;
    for (const one of select.iterate(after)) {
      const row = { ...one } as unknown as TableRow;
      bytes += row.body.byteLength;
      if (rows.length > 0 && bytes > MAX_BYTES) break;
      rows.push(row);
      if (rows.length === MAX_ROWS) break;
    }
    return rows;
  }
}
