import { HooklineError } from '../../../src/core/errors.ts';
import { rowKeysOf, type SealingKeys } from '../../../src/crypto/sealing.ts';
import { RowProofs, type TableRow } from '../../../src/spool/row-proofs.ts';
import type {
  LateCount,
  ReadLimits,
  SpoolCounts,
  SpoolRow,
  SpoolState,
  StoredRow,
  ThreadOptions,
} from '../../../src/spool/spool-row.ts';
import type { OpenFile } from '../../../src/spool/spool-work.ts';
import type { Random } from '../../faults/random.ts';
import type { Simulation } from '../engine/simulation.ts';

type Rows = Map<number, TableRow>;
/** A transaction: on the disk for certain at `syncedAt`. */
type Operation = { readonly apply: (rows: Rows) => void; readonly syncedAt: number };

/** Bytes that a row takes beside its body. */
const ROW_BYTES = 200;
/** More than any simulation needs. */
export const VOLUME_BYTES = 1024 ** 3;

/**
 * The volume of a spool. What SQLite promises of its file holds here: transactions are whole, in their order, and on the
 * disk when their sync has ended. Of those whose sync has not ended any first few survive the end of the machine or its
 * process; one whose sync has failed may be there or not until the file is opened again, which writes it anew.
 */
export class ModelVolume {
  /** Appends are refused beyond it. */
  freeBytes = VOLUME_BYTES;
  /** Writes and syncs fail. */
  isFailing = false;
  /** Of one sync, at the most. */
  syncMs = 4;
  readonly #simulation: Simulation;
  readonly #random: Random;
  readonly #looks: Random;
  #synced: Rows = new Map();
  #operations: Operation[] = [];
  /** When the disk has done what it was asked for. */
  busyUntil = 0;

  constructor(simulation: Simulation) {
    this.#simulation = simulation;
    this.#random = simulation.random('volume');
    this.#looks = simulation.random('looks at the volume');
  }

  /** The process that used it is gone. */
  crash(): void {
    this.#settle();
    const survive = this.#random.between(0, this.#operations.length);
    for (const { apply } of this.#operations.slice(0, survive)) apply(this.#synced);
    this.#operations = [];
    this.busyUntil = this.#simulation.now;
  }

  /** As the process that uses it sees it. */
  rows(): Rows {
    this.#settle();
    if (this.#operations.length === 0) return this.#synced;
    const seen = new Map(this.#synced);
    for (const { apply } of this.#operations) apply(seen);
    return seen;
  }

  /** Those that no key opens. */
  lockedRows(keys: SealingKeys | undefined): TableRow[] {
    const ids = keyIdsOf(keys);
    return [...this.rows().values()].filter(({ keyId }) => keyId !== null && !ids.has(keyId));
  }

  /** Makes what failed syncs left certain: see `rewrite` of src/spool/database.ts. */
  rewrite(): void {
    if (this.isFailing) throw new HooklineError('SPOOL_FAILING', 'simulated');
    const operations = this.#operations.map(({ apply }) => ({ apply, syncedAt: this.#spend() }));
    this.#operations = operations;
  }

  commit(apply: Operation['apply']): void {
    if (this.isFailing) {
      if (this.#random.chance(0.5)) this.#operations.push({ apply, syncedAt: Number.POSITIVE_INFINITY });
      this.#spend();
      throw new HooklineError('SPOOL_FAILING', 'simulated');
    }
    this.#operations.push({ apply, syncedAt: this.#spend() });
  }

  /** Reads a little: of a failing disk memory has it, or not. */
  look(): void {
    if (this.isFailing && this.#looks.chance(0.3)) throw new HooklineError('SPOOL_FAILING', 'simulated');
  }

  note(what: string): void {
    this.#simulation.trace.note('volume', what);
  }

  get usedBytes(): number {
    let bytes = 0;
    for (const { body } of this.rows().values()) bytes += body.byteLength + ROW_BYTES;
    return bytes;
  }

  #spend(): number {
    const begin = Math.max(this.busyUntil, this.#simulation.now);
    this.busyUntil = begin + 0.2 + this.#random.next() * this.syncMs;
    return this.busyUntil;
  }

  #settle(): void {
    while (this.#operations[0] && this.#operations[0].syncedAt <= this.#simulation.now)
      this.#operations.shift()?.apply(this.#synced);
  }
}

const keyIdsOf = (keys: SealingKeys | undefined): ReadonlySet<string> =>
  new Set(keys ? rowKeysOf(keys).map(({ id }) => id) : []);

/** The bodies of rows as they were appended. */
export function openRows(rows: readonly TableRow[], keys: SealingKeys | undefined): Buffer[] {
  const proofs = new RowProofs(keys);
  return rows.flatMap((row) => Buffer.from(proofs.bodyOf(row) ?? []));
}

const AT_START = { unproven: 0, isDamaged: false, damagedCopy: null };

/** What {@link SpoolFile} does with a file of SQLite, on a model volume; rows are sealed or have checksums as there. */
export class ModelSpoolFile implements OpenFile {
  readonly #volume: ModelVolume;
  readonly #proofs: RowProofs;
  readonly #keyIds: ReadonlySet<string>;
  readonly #maxBytes: number;
  #nextId: number;
  #count: number;

  constructor(volume: ModelVolume, { maxBytes, sealingKeys, nextId }: ThreadOptions & { nextId: number }) {
    this.#volume = volume;
    this.#maxBytes = maxBytes;
    this.#proofs = new RowProofs(sealingKeys);
    this.#keyIds = keyIdsOf(sealingKeys);
    volume.rewrite();
    this.#nextId = Math.max(nextId, Math.max(0, ...volume.rows().keys()) + 1);
    this.#count = volume.rows().size;
  }

  get nextId(): number {
    return this.#nextId;
  }

  append(rows: readonly SpoolRow[]): void {
    const bytes = rows.reduce((sum, { body }) => sum + body.byteLength + ROW_BYTES, 0);
    if (this.#volume.usedBytes + bytes > Math.min(this.#maxBytes, this.#volume.freeBytes))
      throw new HooklineError('SPOOL_FULL', 'simulated');
    this.#volume.note(`appends ${this.#nextId} and up to ${rows.length - 1} more`);
    const proved = rows.map((row, n) => this.#proofs.prove(copyOf(row), this.#nextId + n));
    this.#volume.commit((table) => {
      for (const row of proved) table.set(row.id, row);
    });
    this.#count += rows.length;
    this.#nextId += rows.length;
  }

  read(limits: ReadLimits): StoredRow[] {
    const { maxRows, maxBytes, after = 0, maxRowBytes = Number.POSITIVE_INFINITY, passOver } = limits;
    const found: StoredRow[] = [];
    let left = maxBytes;
    for (const row of this.#sorted()) {
      if (row.id <= after || passOver?.has(row.id) || !this.#canOpen(row)) continue;
      left -= row.body.byteLength;
      if (row.body.byteLength > maxRowBytes || (left < 0 && found.length > 0)) break;
      const { keyId, proof, ...stored } = row;
      const body = this.#proofs.bodyOf(row);
      found.push(copyOf({ ...stored, body: body ?? row.body, isChanged: body === null }));
      if (found.length === maxRows) break;
    }
    this.#volume.note(`reads ${maxRows} behind ${after}: ${found.map(({ id }) => id)}`);
    return found;
  }

  readable(ids: readonly number[]): number[] {
    const rows = this.#volume.rows();
    return ids.filter((id) => {
      const row = rows.get(id);
      return row !== undefined && this.#canOpen(row);
    });
  }

  remove(ids: readonly number[]): void {
    this.#volume.note(`removes ${ids}`);
    const rows = this.#volume.rows();
    const there = ids.filter((id) => rows.has(id)).length;
    this.#volume.commit((table) => {
      for (const id of ids) table.delete(id);
    });
    this.#count -= there;
  }

  probe(): void {
    if (this.#volume.usedBytes >= this.#volume.freeBytes) throw new HooklineError('SPOOL_FULL', 'simulated');
    this.#volume.commit(() => {});
  }

  countLate(last: LateCount, before: number): LateCount {
    const isLate = ({ receivedAt }: TableRow) => receivedAt >= last.before && receivedAt < before;
    return { before, fromId: last.fromId, count: last.count + this.#sorted().filter(isLate).length };
  }

  get counts(): SpoolCounts {
    const keyMissing = [...this.#volume.rows().values()].filter((row) => !this.#canOpen(row)).length;
    return { rows: this.#count, keyMissing, ...AT_START };
  }

  state(): SpoolCounts & Pick<SpoolState, 'bytes' | 'oldestAt'> {
    this.#volume.look();
    const [oldest] = this.#sorted();
    return { ...this.counts, bytes: this.#volume.usedBytes, oldestAt: oldest?.receivedAt ?? null };
  }

  close(): void {}

  #canOpen = ({ keyId }: TableRow) => keyId === null || this.#keyIds.has(keyId);

  #sorted(): TableRow[] {
    return [...this.#volume.rows().values()].sort((a, b) => a.id - b.id);
  }
}

/** Memory of its own: what a caller does with it afterwards changes no row. */
const copyOf = <R extends { readonly body: Uint8Array }>(row: R): R => ({
  ...row,
  body: new Uint8Array(row.body),
});
