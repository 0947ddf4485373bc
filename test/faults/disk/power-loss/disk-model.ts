import type { DiskEvent } from '../shim/read-log.ts';

/** A change of a file's content. */
export type Change = Extract<DiskEvent, { kind: 'write' | 'truncate' }>;

/**
 * A change that the disk may or may not have. `pending`: not synced yet. `doubtful`: a sync of it failed; the kernel
 * counts it as written from then on, so that no later sync brings it to the disk.
 */
export type Step = { readonly change: Change; fate: 'stored' | 'pending' | 'doubtful' };

/** A file's content: what is surely on the disk, and the changes since, in their order. */
export type DiskFile = { base: Buffer; readonly steps: Step[] };

export type Entry = DiskFile | 'folder';

/** A folder entry that was made or removed (null) and isn't synced yet. */
export type EntryChange = { readonly path: string; readonly to: Entry | null };

/** The folder as the process sees it, and what of it would outlast a loss of power. */
export class DiskModel {
  /** By path, as the process sees them. */
  readonly #seen = new Map<string, Entry>();
  /** Entries that are surely on the disk. */
  readonly stored = new Map<string, Entry>();
  /** Changes of entries since, in their order. */
  unsynced: EntryChange[] = [];

  /** @param files what is on the disk when the recording begins */
  constructor(files: ReadonlyMap<string, Buffer | 'folder'>) {
    for (const [path, content] of files) {
      const entry: Entry = content === 'folder' ? content : { base: content, steps: [] };
      this.#seen.set(path, entry);
      this.stored.set(path, entry);
    }
  }

  apply(event: DiskEvent): void {
    if (event.kind === 'create') this.#enter(event.path, { base: Buffer.alloc(0), steps: [] });
    if (event.kind === 'mkdir') this.#enter(event.path, 'folder');
    if (event.kind === 'unlink') this.#enter(event.path, null);
    if (event.kind === 'write' || event.kind === 'truncate')
      this.#fileAt(event.path).steps.push({ change: event, fate: 'pending' });
    if (event.kind === 'sync') this.#sync(event.path, event.failed);
  }

  #enter(path: string, to: Entry | null): void {
    if (to === null) this.#seen.delete(path);
    else this.#seen.set(path, to);
    this.unsynced.push({ path, to });
  }

  #fileAt(path: string): DiskFile {
    const entry = this.#seen.get(path);
    if (entry === undefined || entry === 'folder')
      throw new Error(`the recording changes ${path}, which is no file`);
    return entry;
  }

  #sync(path: string, failed: boolean): void {
    if (path === '' || this.#seen.get(path) === 'folder') {
      if (!failed) this.#syncFolder(path);
      return;
    }
    const file = this.#fileAt(path);
    for (const step of file.steps) if (step.fate === 'pending') step.fate = failed ? 'doubtful' : 'stored';
    const firstOpen = file.steps.findIndex(({ fate }) => fate !== 'stored');
    const settled = file.steps.splice(0, firstOpen < 0 ? file.steps.length : firstOpen);
    file.base = contentOf({ base: file.base, steps: settled }, () => true, 0);
  }

  #syncFolder(folder: string): void {
    const isIn = ({ path }: EntryChange) => path.slice(0, Math.max(0, path.lastIndexOf('/'))) === folder;
    for (const { path, to } of this.unsynced.filter(isIn)) {
      if (to === null) this.stored.delete(path);
      else this.stored.set(path, to);
    }
    this.unsynced = this.unsynced.filter((change) => !isIn(change));
  }
}

/** What a disk writes as a whole. */
const SECTOR_BYTES = 512;

/**
 * A file's content where `keeps` says which of the open changes the disk has, sector by sector.
 * @param stale the byte that stands where the file was made longer and nothing was written
 */
export function contentOf(
  { base, steps }: DiskFile,
  keeps: (step: Step, sector: number) => boolean,
  stale: number,
): Buffer {
  const ends = steps.map(({ change }) =>
    change.kind === 'write' ? change.offset + change.bytes.length : change.size,
  );
  const content = Buffer.alloc(Math.max(base.length, ...ends), stale);
  base.copy(content);
  let size = base.length;
  for (const step of steps) {
    const { change } = step;
    const isKept = (sector: number) => step.fate === 'stored' || keeps(step, sector);
    if (change.kind === 'truncate') {
      if (!isKept(0)) continue;
      content.fill(0, Math.min(size, change.size));
      size = change.size;
      content.fill(stale, size);
      continue;
    }
    const end = change.offset + change.bytes.length;
    for (let at = change.offset; at < end; ) {
      const sector = Math.floor(at / SECTOR_BYTES);
      const next = Math.min(end, (sector + 1) * SECTOR_BYTES);
      if (isKept(sector)) {
        change.bytes.copy(content, at, at - change.offset, next - change.offset);
        size = Math.max(size, next);
      }
      at = next;
    }
  }
  return content.subarray(0, size);
}
