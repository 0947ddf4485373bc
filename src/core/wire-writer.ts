/** Kafka's primitive types as bytes (Kafka protocol, "Protocol Primitive Types"). */

/** A signed number as one that is not negative: 0, -1, 1, -2 become 0, 1, 2, 3. */
const zigzag = (value: number) => (value >= 0 ? value * 2 : -value * 2 - 1);

/** Of a zigzag varint. */
export function signedBytes(value: number): number {
  let bytes = 1;
  for (let rest = zigzag(value); rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes++;
  return bytes;
}

/** Of bytes behind their length; null is a length of -1. */
export const sizedBytes = (bytes: Buffer | null): number =>
  bytes === null ? 1 : signedBytes(bytes.length) + bytes.length;

/** Shorter runs of bytes are sooner copied than the runtime is called. */
const SHORT = 48;

/** Writes the primitive types into one buffer, which must be long enough. */
export class WireWriter {
  readonly buffer: Buffer;
  /** Where the next byte goes. */
  at = 0;

  constructor(buffer: Buffer) {
    this.buffer = buffer;
  }

  byte(value: number): void {
    this.buffer[this.at++] = value;
  }

  int16(value: number): void {
    this.at = this.buffer.writeInt16BE(value, this.at);
  }

  int32(value: number): void {
    this.at = this.buffer.writeInt32BE(value, this.at);
  }

  int64(value: bigint): void {
    this.at = this.buffer.writeBigInt64BE(value, this.at);
  }

  unsigned(value: number): void {
    let rest = value;
    while (rest >= 0x80) {
      this.buffer[this.at++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.buffer[this.at++] = rest;
  }

  signed(value: number): void {
    this.unsigned(zigzag(value));
  }

  sized(bytes: Buffer | null): void {
    if (bytes === null) return this.signed(-1);
    this.signed(bytes.length);
    this.copy(bytes);
  }

  /** Behind its length; of characters of one byte. */
  latin1(text: string): void {
    this.signed(text.length);
    this.at += this.buffer.write(text, this.at, 'latin1');
  }

  copy(bytes: Buffer): void {
    const { length } = bytes;
    const { buffer, at } = this;
    if (length > SHORT) bytes.copy(buffer, at);
    else for (let n = 0; n < length; n++) buffer[at + n] = bytes[n] as number;
    this.at = at + length;
  }
}
