import {
  checksumOf,
  isChecksum,
  openRow,
  type RowKey,
  rowKeysOf,
  type SealingKeys,
  sealRow,
} from '../crypto/sealing.ts';
import type { SpoolRow } from './spool-row.ts';

/** A row as it stands in the table. */
export type TableRow = SpoolRow & {
  readonly id: number;
  /** Of the key that sealed it; null where it only has a checksum. */
  readonly keyId: string | null;
  /** What proves it: iv and tag, or the checksum; null in a file of an older format. */
  readonly proof: Uint8Array | null;
};

/** Seals rows where there is a sealing key, else gives them a checksum; and tells whether a row is what was stored. */
export class RowProofs {
  readonly #current: RowKey | undefined;
  readonly #keys: ReadonlyMap<string, RowKey>;
  /** Rows up to this id may have no seal: they are of an older format, and there was no space to seal them. */
  plainUpTo = 0;

  constructor(keys: SealingKeys | undefined) {
    const rowKeys = keys ? rowKeysOf(keys) : [];
    this.#current = rowKeys[0];
    this.#keys = new Map(rowKeys.map((key) => [key.id, key]));
  }

  get isSealing(): boolean {
    return this.#current !== undefined;
  }

  /** SQL that is true for rows whose key is here. */
  get openable(): string {
    const ids = [...this.#keys.keys()].map((id) => `'${id}'`);
    return `(key_id IS NULL OR key_id IN (${ids.join(', ')}))`;
  }

  /** The row as it goes into the table under this id. */
  prove(row: SpoolRow, id: number): TableRow {
    const keyId = this.#current?.id ?? null;
    const aad = columnsOf({ ...row, id, keyId });
    if (this.#current) return { ...row, id, keyId, ...sealRow(this.#current, aad, row.body) };
    return { ...row, id, keyId, proof: checksumOf(aad, row.body) };
  }

  /** The body as it was stored, or null where anything of the row was changed since. */
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

/** Every column but the body and its proof, so that no two rows have the same text. */
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
