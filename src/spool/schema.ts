export const PAGE_BYTES = 4_096;

/** Formats of the file. A higher one was written by a newer Hookline. */
export const PLAIN = 1;
/** Each row has a checksum, or a seal from a time with a sealing key. */
export const CHECKSUMS = 2;
/** Each row is sealed: a row without a seal was changed. */
export const SEALED = 3;

/**
 * EXCLUSIVE keeps the file's lock while the process lives: a folder has one owner, and kill -9 releases it. It also keeps
 * the index of the write-ahead log in memory, so that the volume needs no shared memory; for that it must be the first
 * statement. The lock is taken by the first read.
 */
export const LOCK_SQL = `
  PRAGMA locking_mode = EXCLUSIVE;
  SELECT count(*) FROM sqlite_schema;
`;

/** For a file that is empty. In another one the second statement would write to the log, which is still to be examined. */
export const NEW_FILE_SQL = `
  PRAGMA page_size = ${PAGE_BYTES};
  PRAGMA auto_vacuum = INCREMENTAL;
`;

/** FULL syncs the log at each commit: in WAL mode a commit survives a loss of power only with it. */
export const OPEN_SQL = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  PRAGMA wal_autocheckpoint = 256;
  PRAGMA journal_size_limit = 1048576;
`;

/** One table, with a row for each delivery as it was received. */
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

/** The file has no format then, as a new one. */
export const DROP_SQL = `
  DROP TABLE deliveries;
  PRAGMA user_version = 0;
`;

/** The columns that format 1 does not have. */
export const ADD_COLUMNS_SQL = `
  BEGIN IMMEDIATE;
  ALTER TABLE deliveries ADD COLUMN key_id TEXT;
  ALTER TABLE deliveries ADD COLUMN proof BLOB;
  COMMIT;
`;

/** A row as it is read. The driver throws at an integer beyond 2^53, so a changed time is limited; its proof shows the change. */
export const COLUMNS_SQL = `id, ref, subscription_id AS subscriptionId, media_type AS mediaType,
  max(-9007199254740991, min(9007199254740991, received_at)) AS receivedAt, traceparent, key_id AS keyId, proof, body`;

export const INSERT_SQL = `
  INSERT INTO deliveries (id, ref, subscription_id, media_type, received_at, traceparent, key_id, proof, body)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
`;

/** Of the rows from an id on: how many were received from one time to another, and the first that is younger. */
export const COUNT_LATE_SQL = `
  SELECT total(received_at >= ? AND received_at < ?) AS late, min(CASE WHEN received_at >= ? THEN id END) AS next
  FROM deliveries WHERE id >= ?
`;
