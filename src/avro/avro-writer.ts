import { releaseBytes } from '../core/release-bytes.ts';

/** Longer runs of bytes are copied by the runtime; shorter ones are sooner copied than it is called. */
const SHORT = 48;

/** Memory that is the writer's alone. `headroom` bytes of it stay free before and behind what is written. */
export type WriterMemory = {
  readonly headroom: number;
  take(bytes: number): Buffer;
  /** Takes back what is not needed any more. */
  drop(bytes: Buffer): void;
};

/** More would be written than may be. */
export class TooLong extends Error {}

/** Writes Avro binary into one buffer, which grows where it is too small. */
export class AvroWriter {
  /** Where the next byte goes; may be set back. */
  length: number;
  /** Bytes that are probably enough where the first are not. */
  likely = 0;
  /** It does not grow for more. */
  maxBytes = Number.POSITIVE_INFINITY;
  readonly #memory: WriterMemory | undefined;
  readonly #headroom: number;
  /** Bytes that it has at first. */
  readonly #firstBytes: number;
  #buffer: Buffer;

  /**
   * @param capacity bytes that are probably enough; they cost nothing until they are written
   * @param memory where they are to be; else they are the runtime's own
   */
  constructor(capacity: number, memory?: WriterMemory) {
    this.#memory = memory;
    this.#headroom = memory?.headroom ?? 0;
    this.length = this.#headroom;
    this.#firstBytes = capacity + 2 * this.#headroom;
    this.#buffer = this.#take(this.#firstBytes);
  }

  /** What was written. The writer is of no use afterwards. */
  end(): Buffer {
    this.#ensure(this.#headroom);
    return this.#buffer.subarray(this.#headroom, this.length);
  }

  /** Gives its memory back, and what was written with it. The writer is of no use afterwards. */
  discard(): void {
    this.#drop(this.#buffer);
  }

  /** Starts again, with as much memory as at first. */
  clear(): void {
    this.length = this.#headroom;
    if (this.#buffer.length <= this.#firstBytes) return;
    this.#drop(this.#buffer);
    this.#buffer = this.#take(this.#firstBytes);
  }

  byte(value: number): void {
    this.#ensure(1);
    this.#buffer[this.length++] = value;
  }

  /** As many nulls. */
  zeros(count: number): void {
    this.#ensure(count);
    const end = this.length + count;
    if (count > SHORT) this.#buffer.fill(0, this.length, end);
    else for (let at = this.length; at < end; at++) this.#buffer[at] = 0;
    this.length = end;
  }

  /** An int or a long, as zigzag: -2^52 to 2^53-2 are exact. */
  long(value: number): void {
    this.#ensure(10);
    let rest = value >= 0 ? value * 2 : -value * 2 - 1;
    while (rest >= 0x80) {
      this.#buffer[this.length++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.#buffer[this.length++] = rest;
  }

  float(value: number): void {
    this.#ensure(4);
    this.length = this.#buffer.writeFloatLE(value, this.length);
  }

  double(value: number): void {
    this.#ensure(8);
    this.length = this.#buffer.writeDoubleLE(value, this.length);
  }

  string(value: string): void {
    const bytes = Buffer.byteLength(value);
    this.long(bytes);
    this.#ensure(bytes);
    this.length += this.#buffer.write(value, this.length);
  }

  /**
   * A string that stands there in UTF-8. False where `stop` is among its bytes: what was written is of no use then, and
   * `length` is to be set back. What is long is looked through first: without what `stop` stands for it may fit.
   */
  span(from: Buffer, start: number, end: number, stop?: number): boolean {
    const bytes = end - start;
    if (bytes > SHORT && stop !== undefined && from.subarray(start, end).includes(stop)) return false;
    this.long(bytes);
    this.#ensure(bytes);
    const into = this.#buffer;
    const at = this.length;
    this.length = at + bytes;
    if (bytes > SHORT) {
      from.copy(into, at, start, end);
      return true;
    }
    for (let n = 0; n < bytes; n++) {
      const byte = from[start + n] as number;
      if (byte === stop) return false;
      into[at + n] = byte;
    }
    return true;
  }

  /** What another one wrote. */
  append(other: AvroWriter): void {
    const bytes = other.length - other.#headroom;
    this.#ensure(bytes);
    other.#buffer.copy(this.#buffer, this.length, other.#headroom, other.length);
    this.length += bytes;
  }

  #take(bytes: number): Buffer {
    return this.#memory ? this.#memory.take(bytes) : Buffer.allocUnsafe(bytes);
  }

  /** @throws TooLong */
  #ensure(bytes: number): void {
    const needed = this.length + bytes;
    if (needed <= this.#buffer.length) return;
    const most = this.maxBytes + 2 * this.#headroom;
    if (needed > most) throw new TooLong();
    const longer = this.#take(Math.min(most, Math.max(this.likely, Math.ceil(1.5 * needed))));
    this.#buffer.copy(longer, 0, 0, this.length);
    // The collector would leave it there while the next ones grow.
    this.#drop(this.#buffer);
    this.#buffer = longer;
  }

  #drop(bytes: Buffer): void {
    if (this.#memory) this.#memory.drop(bytes);
    else releaseBytes(bytes);
  }
}
