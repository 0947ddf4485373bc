/**
 * Gives a buffer's memory back now: the collector might take its time, and bodies are counted as if it didn't. One that
 * is cut from the pool, as small ones are, stays: others share its memory.
 */
export function releaseBytes({ buffer }: Buffer): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength > Buffer.poolSize) buffer.transfer(0);
}
