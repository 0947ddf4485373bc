import type { DatabaseSync } from 'node:sqlite';

/** SQLite's application_id, on the first page of the database, while it is in use; else 0. */
const IN_USE = 0x48_4b_4c_47;

/**
 * Notes in the database itself, not only in its log, that it has a log with at least one frame. The log is emptied only
 * after `noteClosed`: where the note stands and the log is missing, what it held is lost.
 * The last statement leaves a frame that is not in the database yet: on a disk that fails from now on SQLite cannot copy it,
 * and so does not delete the log when it closes.
 */
export function noteInUse(db: DatabaseSync): void {
  const note = `PRAGMA application_id = ${IN_USE}`;
  db.exec(note);
  db.exec('PRAGMA wal_checkpoint(PASSIVE)');
  db.exec(note);
}

/** Takes the note back, in the log: it reaches the database with all that the log has, before the log is emptied. */
export function noteClosed(db: DatabaseSync): void {
  db.exec('PRAGMA application_id = 0');
}

export function isNotedInUse(db: DatabaseSync): boolean {
  return { ...db.prepare('PRAGMA application_id').get() }.application_id === IN_USE;
}
