/** Gives a buffer's memory back now: the collector might take its time, and bodies are counted as if it didn't. */
export function releaseBytes({ buffer }: Buffer): void {
  if (buffer instanceof ArrayBuffer && !buffer.detached) buffer.transfer(0);
}
