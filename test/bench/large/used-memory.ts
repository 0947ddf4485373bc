import { closeSync, ftruncateSync, mkdirSync, openSync, readFileSync, readSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';

/** Longer than any machine's memory, and no byte of it on the disk. */
const FILE_BYTES = 2 ** 42;
/** Read from the end to the beginning, so that nothing is read ahead: pages stand one by one, and are given up so. */
const PIECE_BYTES = 64 * 1024;

/**
 * Free memory filled with pages of a file, as it is on every machine that has run for a day: what a broker writes then
 * takes over pages that other files had. In memory that was not touched before, each page has to be made first, in a
 * virtual machine by its host: there the append of a record of 50 MB was measured to take 165 ms instead of 30.
 */
export class UsedMemory implements Disposable {
  readonly #path: string;
  /** Without a name since it was opened: it's gone with this process, however that ends. */
  #file: number | undefined;
  #position = FILE_BYTES;

  /** The file must not be on a tmpfs, whose holes take no pages. */
  constructor(path: string) {
    this.#path = path;
  }

  /** Fills what is free by now: some is given back in the meantime. Does nothing but on Linux. */
  fill(): void {
    if (process.platform !== 'linux') return;
    this.#file ??= this.#open();
    const piece = Buffer.allocUnsafe(PIECE_BYTES);
    const end = this.#position - freeBytes();
    for (; this.#position > end; this.#position -= PIECE_BYTES) {
      readSync(this.#file, piece, 0, PIECE_BYTES, this.#position - PIECE_BYTES);
    }
  }

  #open(): number {
    mkdirSync(dirname(this.#path), { recursive: true });
    const file = openSync(this.#path, 'w+');
    rmSync(this.#path);
    ftruncateSync(file, FILE_BYTES);
    return file;
  }

  [Symbol.dispose](): void {
    if (this.#file !== undefined) closeSync(this.#file);
  }
}

function freeBytes(): number {
  const [, kib] = /^MemFree: +(\d+) kB$/m.exec(readFileSync('/proc/meminfo', 'utf8')) ?? [];
  return Number(kib) * 1024;
}
