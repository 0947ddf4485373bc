/** The spool's file: one table, a row for each delivery as it was received. */

export const FILE_NAME = 'spool.sqlite';
/** SQLite's name for its write-ahead log. */
export const LOG_NAME = `${FILE_NAME}-wal`;
export const PAGE_BYTES = 4_096;

/** Formats of the file. One with a higher format was written by a newer Hookline. */
export const PLAIN = 1;
/** Each row has a checksum, or a seal of an earlier time. */
export const CHECKSUMS = 2;
/** Each row is sealed: one that is not was changed. */
export const SEALED = 3;

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
    key_id TEXT,
    proof BLOB,
    body BLOB NOT NULL
  ) STRICT;
  PRAGMA user_version = ${CHECKSUMS};
  COMMIT;
`;

/** What the format 1 has not. */
export const ADD_COLUMNS_SQL = `
  BEGIN IMMEDIATE;
  ALTER TABLE deliveries ADD COLUMN key_id TEXT;
  ALTER TABLE deliveries ADD COLUMN proof BLOB;
  COMMIT;
`;

/** A row as it is read. A time that no number holds would be an error of the driver; a changed one is told by its proof. */
export const COLUMNS_SQL = `id, ref, subscription_id AS subscriptionId, media_type AS mediaType,
  max(-9007199254740991, min(9007199254740991, received_at)) AS receivedAt, traceparent, key_id AS keyId, proof, body`;

export const INSERT_SQL = `
  INSERT INTO deliveries (id, ref, subscription_id, media_type, received_at, traceparent, key_id, proof, body)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
`;
