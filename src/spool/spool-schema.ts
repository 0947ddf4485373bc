/** The spool's file: one table, a row for each delivery as it was received. */

export const FILE_NAME = 'spool.sqlite';
/** SQLite's name for its write-ahead log. */
export const LOG_NAME = `${FILE_NAME}-wal`;
export const PAGE_BYTES = 4_096;

/** Of the table below. A file with a higher one was written by a newer Hookline. */
export const FORMAT = 1;

/**
 * EXCLUSIVE holds the file's lock for as long as the process lives: a folder has one owner, and kill -9 sets it free.
 * It also keeps the index of the write-ahead log in memory, so that no shared memory is needed of the volume; for that
 * it must be said before anything looks into the file.
 * FULL syncs the log at each commit: in WAL mode that is what makes a commit outlast a loss of power.
 */
export const OPEN_SQL = `
  PRAGMA locking_mode = EXCLUSIVE;
  PRAGMA page_size = ${PAGE_BYTES};
  PRAGMA auto_vacuum = INCREMENTAL;
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  PRAGMA wal_autocheckpoint = 256;
  PRAGMA journal_size_limit = 1048576;
`;

export const CREATE_SQL = `
  BEGIN IMMEDIATE;
  CREATE TABLE IF NOT EXISTS deliveries (
    id INTEGER PRIMARY KEY,
    ref TEXT NOT NULL,
    subscription_id TEXT NOT NULL,
    media_type TEXT NOT NULL,
    received_at INTEGER NOT NULL,
    traceparent TEXT,
    body BLOB NOT NULL
  ) STRICT;
  PRAGMA user_version = ${FORMAT};
  COMMIT;
`;
