import { releaseBytes } from '../../core/release-bytes.ts';
import type { WorkMemory } from '../../delivery/ports.ts';
import { collectGarbage } from '../../runtime/v8-flags.ts';

/** For the Produce request around a record: some 300 bytes, the key and the headers. */
const HEADROOM = 16_384;

/** The message of one and the record of one: more are rarely in use at once. */
const MAX_REUSED = 2;

/**
 * Memory that is used again for the next body: what is fresh costs the system a zeroed page for every 4 KiB, and V8 the
 * collecting of it. What can't be kept is given back at once.
 */
export class ReusedMemory implements WorkMemory {
  readonly headroom = HEADROOM;
  /** The smallest first. */
  #kept: Buffer[] = [];
  /** Nothing else is taken back: a small message is cut from the runtime's pool, which it shares with others' bytes. */
  readonly #handedOut = new WeakSet<ArrayBufferLike>();
  readonly #mayBeRead = new WeakSet<ArrayBufferLike>();

  take(bytes: number): Buffer {
    const fitting = this.#kept.findIndex(({ length }) => length >= bytes);
    const [kept] = fitting < 0 ? [] : this.#kept.splice(fitting, 1);
    const taken = kept ?? Buffer.allocUnsafeSlow(bytes);
    this.#handedOut.add(taken.buffer);
    return taken;
  }

  /** Whether these bytes are in memory that was taken here and not given back. */
  owns({ buffer }: Buffer): boolean {
    return this.#handedOut.has(buffer);
  }

  /** Gives back all that was kept. */
  clear(): void {
    const dropped = this.#kept.splice(0);
    for (const kept of dropped) this.drop(kept);
    // A thread with little to do would collect it a minute later.
    if (dropped.some(({ buffer }) => this.#mayBeRead.has(buffer))) setImmediate(collectGarbage);
  }

  give({ buffer }: Buffer, { mayBeRead } = { mayBeRead: false }): void {
    if (!this.#handedOut.delete(buffer)) return;
    if (mayBeRead) this.#mayBeRead.add(buffer);
    this.#kept.push(Buffer.from(buffer));
    this.#kept.sort((a, b) => a.length - b.length);
    if (this.#kept.length > MAX_REUSED) this.drop(this.#kept.shift() as Buffer);
  }

  /** Memory that the system writes to a socket must not be gone, whatever it holds: the collector knows when it isn't read. */
  drop(bytes: Buffer): void {
    if (!this.#mayBeRead.has(bytes.buffer)) releaseBytes(bytes);
  }
}
