import { releaseBytes } from '../../core/release-bytes.ts';

/** Smaller chunks are copied together: as an object each would take many times its length. */
export const SMALL_CHUNK_BYTES = 4 * 1024;
const MIN_TAIL_BYTES = 1024;
const MAX_TAIL_BYTES = 16 * 1024;

/** The bytes of a body in the pieces in which they came; of many small chunks in few pieces. */
export class Pieces {
  readonly #pieces: Buffer[] = [];
  /** The last piece, where it has bytes free, from `#used` on. */
  #tail: Buffer | undefined;
  #used = 0;
  #length = 0;

  /** Bytes that have arrived. */
  get length(): number {
    return this.#length;
  }

  /** @returns how much more memory is held now: at most MAX_TAIL_BYTES more than what has come */
  push(chunk: Buffer): number {
    this.#length += chunk.length;
    const rest = this.#fillTail(chunk);
    if (rest.length === 0) return 0;
    if (rest.length >= SMALL_CHUNK_BYTES) {
      this.#pieces.push(rest);
      return rest.length;
    }
    const bytes = Math.max(rest.length, Math.min(MAX_TAIL_BYTES, Math.max(MIN_TAIL_BYTES, this.#length)));
    const tail = Buffer.allocUnsafeSlow(bytes);
    this.#used = rest.copy(tail);
    this.#tail = this.#used < bytes ? tail : undefined;
    this.#pieces.push(tail);
    return bytes;
  }

  /** Calls with each piece, in order. */
  each(take: (piece: Buffer) => void): void {
    for (const piece of this.#pieces) take(piece === this.#tail ? piece.subarray(0, this.#used) : piece);
  }

  /** All of it in one piece. */
  join(): Buffer {
    const whole = Buffer.allocUnsafeSlow(this.#length);
    let at = 0;
    this.each((piece) => {
      at += piece.copy(whole, at);
    });
    this.release();
    return whole;
  }

  /** Gives the memory back now. */
  release(): void {
    for (const piece of this.#pieces.splice(0)) releaseBytes(piece);
    this.#tail = undefined;
    this.#length = 0;
  }

  #fillTail(chunk: Buffer): Buffer {
    if (!this.#tail) return chunk;
    const copied = chunk.copy(this.#tail, this.#used);
    this.#used += copied;
    if (this.#used === this.#tail.length) this.#tail = undefined;
    return chunk.subarray(copied);
  }
}
