import type { DatabaseSync } from 'node:sqlite';
import { hasCode } from '../core/errors.ts';
import { ADD_COLUMNS_SQL, CHECKSUMS, COLUMNS_SQL, PLAIN, SEALED, sqliteFailure } from './database.ts';
import type { RowProofs, TableRow } from './row-proofs.ts';

/** Of one transaction: the log takes it beside the table. */
const MOST_ROWS = 500;
const MOST_BYTES = 4 * 1024 * 1024;

/**
 * Seals the rows of a file that was written without a sealing key, or by an older Hookline, once; without a key rows of an
 * older format get a checksum. A row whose checksum is wrong stays as it is, and so counts as changed. A file that is full
 * has no space for that: its rows are taken as they are, and the next opening tries again.
 */
export function upgradeRows(db: DatabaseSync, proofs: RowProofs, dir: string): void {
  const number = (sql: string) => Number(Object.values({ ...db.prepare(sql).get() })[0] ?? 0);
  const format = number('PRAGMA user_version');
  const wanted = proofs.isSealing ? SEALED : CHECKSUMS;
  if (format === wanted) return;
  const hasColumns = number("SELECT count(*) FROM pragma_table_info('deliveries') WHERE name = 'key_id'") > 0;
  try {
    if (!hasColumns) db.exec(ADD_COLUMNS_SQL);
    if (format === PLAIN) proofs.plainUpTo = number('SELECT max(id) FROM deliveries');
    if (format < wanted) sealAll(db, proofs, format);
    // Without a key sealed rows stay what they are; new ones have a checksum, and are sealed when a key is there again.
    db.exec(`PRAGMA user_version = ${wanted}`);
    proofs.plainUpTo = 0;
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    const failure = sqliteFailure(error, dir);
    if (!hasColumns || !hasCode(failure, 'SPOOL_FULL')) throw failure;
  }
}

function sealAll(db: DatabaseSync, proofs: RowProofs, format: number): void {
  // Of what is written over, free pages keep nothing (remains within a page go when the spool is drained and shrinks).
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
      if (rows.length > 0 && bytes > MOST_BYTES) break;
      rows.push(row);
      if (rows.length === MOST_ROWS) break;
    }
    return rows;
  }
}
