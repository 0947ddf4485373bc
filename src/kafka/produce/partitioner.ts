/** The hash of Kafka's own clients (murmur2, seed 0x9747b28c), as a signed 32-bit number. */
export function murmur2(bytes: Uint8Array): number {
  const m = 0x5bd1e995;
  const length = bytes.length;
  const view = new DataView(bytes.buffer, bytes.byteOffset, length);
  let hash = 0x9747b28c ^ length;
  let at = 0;
  for (; at + 4 <= length; at += 4) {
    let word = Math.imul(view.getInt32(at, true), m);
    word ^= word >>> 24;
    hash = Math.imul(hash, m) ^ Math.imul(word, m);
  }
  if (at < length) {
    let tail = 0;
    for (let n = length - 1; n >= at; n--) tail = (tail << 8) | view.getUint8(n);
    hash = Math.imul(hash ^ tail, m);
  }
  hash ^= hash >>> 13;
  hash = Math.imul(hash, m);
  return hash ^ (hash >>> 15);
}

/** The partition that Kafka's own clients choose for this key, so that others may write to the same topic. */
export function partitionOf(key: Uint8Array, partitions: number): number {
  return (murmur2(key) & 0x7fffffff) % partitions;
}
