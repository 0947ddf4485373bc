/** Reads the primitive types of Kafka's protocol from a request. */
export class WireReader {
  readonly bytes: Buffer;
  at = 0;
  /** Whether lengths are compact and structures end with tagged fields. */
  isFlexible = false;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  int8(): number {
    return this.bytes.readInt8(this.#take(1));
  }

  int16(): number {
    return this.bytes.readInt16BE(this.#take(2));
  }

  int32(): number {
    return this.bytes.readInt32BE(this.#take(4));
  }

  int64(): bigint {
    return this.bytes.readBigInt64BE(this.#take(8));
  }

  unsigned(): number {
    let value = 0;
    for (let factor = 1; ; factor *= 0x80) {
      const byte = this.bytes[this.#take(1)] as number;
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
    }
  }

  /** Zigzag varint. */
  signed(): number {
    const value = this.unsigned();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  /** Of an array or of bytes; -1 for null. */
  length(): number {
    return this.isFlexible ? this.unsigned() - 1 : this.int32();
  }

  string(): string | null {
    const length = this.isFlexible ? this.unsigned() - 1 : this.int16();
    return length < 0 ? null : this.text(length, 'utf8');
  }

  take(length: number): Buffer {
    const at = this.#take(length);
    return this.bytes.subarray(at, at + length);
  }

  /** So many bytes as a text. */
  text(length: number, encoding: 'utf8' | 'hex'): string {
    const at = this.#take(length);
    return this.bytes.toString(encoding, at, at + length);
  }

  skip(length: number): void {
    this.#take(length);
  }

  tags(): void {
    if (!this.isFlexible) return;
    for (let left = this.unsigned(); left > 0; left--) {
      this.unsigned();
      this.skip(this.unsigned());
    }
  }

  array<T>(read: () => T): T[] | null {
    const length = this.length();
    if (length < 0) return null;
    const items: T[] = [];
    for (let n = 0; n < length; n++) items.push(read());
    return items;
  }

  #take(length: number): number {
    const { at } = this;
    if (at + length > this.bytes.length) throw new RangeError('the request ends too early');
    this.at = at + length;
    return at;
  }
}

/** Writes the same into an answer. */
export class WireWriter {
  readonly isFlexible: boolean;
  #bytes = Buffer.allocUnsafe(256);
  #length = 4;

  constructor(isFlexible: boolean) {
    this.isFlexible = isFlexible;
  }

  int8(value: number): void {
    const at = this.#take(1);
    this.#bytes.writeInt8(value, at);
  }

  int16(value: number): void {
    const at = this.#take(2);
    this.#bytes.writeInt16BE(value, at);
  }

  int32(value: number): void {
    const at = this.#take(4);
    this.#bytes.writeInt32BE(value, at);
  }

  int64(value: bigint): void {
    const at = this.#take(8);
    this.#bytes.writeBigInt64BE(value, at);
  }

  unsigned(value: number): void {
    let rest = value;
    for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) this.int8((((rest % 0x80) | 0x80) << 24) >> 24);
    this.int8(rest);
  }

  string(text: string | null): void {
    const length = text === null ? -1 : Buffer.byteLength(text);
    if (this.isFlexible) this.unsigned(length + 1);
    else this.int16(length);
    if (text === null) return;
    const at = this.#take(length);
    this.#bytes.write(text, at);
  }

  raw(bytes: Uint8Array): void {
    const at = this.#take(bytes.length);
    this.#bytes.set(bytes, at);
  }

  array<T>(items: readonly T[], write: (item: T) => void): void {
    if (this.isFlexible) this.unsigned(items.length + 1);
    else this.int32(items.length);
    for (const item of items) write(item);
  }

  /** An array that is not there. */
  noArray(): void {
    if (this.isFlexible) this.unsigned(0);
    else this.int32(-1);
  }

  /** No tagged fields. */
  tags(): void {
    if (this.isFlexible) this.unsigned(0);
  }

  /** The whole frame, its length before it. */
  frame(): Buffer {
    this.#bytes.writeInt32BE(this.#length - 4, 0);
    return this.#bytes.subarray(0, this.#length);
  }

  #take(length: number): number {
    const at = this.#length;
    if (at + length > this.#bytes.length) {
      const grown = Buffer.allocUnsafe(2 * (at + length));
      this.#bytes.copy(grown, 0, 0, at);
      this.#bytes = grown;
    }
    this.#length = at + length;
    return at;
  }
}
