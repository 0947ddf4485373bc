/**
 * Gives a buffer's memory back now: the collector might take its time, and bodies are counted as if it didn't. One that
 * is cut from the pool, as small ones are, stays: others share its memory. Shared memory stays, too.
 */
export function releaseBytes({ buffer, length }: Buffer): void {
  if (!(buffer instanceof ArrayBuffer) || buffer.detached) return;
  if (length === buffer.byteLength || buffer.byteLength > Buffer.poolSize) buffer.transfer(0);
}
