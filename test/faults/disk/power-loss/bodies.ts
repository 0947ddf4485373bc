/** A delivery's body, told by its number and size. Its pattern is no divisor of a page: a shifted page shows. */
export function bodyOf(n: number, size: number): Buffer {
  const pattern = Buffer.alloc(61);
  for (let at = 0; at < pattern.length; at++) pattern[at] = Math.imul(n * 61 + at + 1, 0x9e3779b1) >>> 24;
  const body = Buffer.alloc(size, pattern);
  body.writeUInt32LE(n);
  return body;
}

export const numberOf = (body: Buffer) => body.readUInt32LE();
