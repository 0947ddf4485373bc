import { signedBytes, sizedBytes, WireWriter } from './wire-writer.ts';

type Header = readonly [name: Buffer, value: Buffer];

/**
 * Of a record that is read so many headers are kept, the first. Hookline writes some twenty; who may write a record can give it
 * 200,000 in a megabyte, which take many times as much memory.
 */
export const MAX_HEADERS = 100;

/** Headers of a record, in their order. A Map is one form of them. */
export type RecordHeaders = Iterable<Header> & { readonly size: number };

/**
 * Headers as a record has them on the wire (Kafka protocol, "Record"): behind their number, each name and value behind its length.
 * They are laid out when they are made, and copied into the request as they are.
 */
export class WireHeaders implements RecordHeaders {
  readonly size: number;
  readonly wire: Buffer;

  /** @param wire all of them, with their number */
  constructor(size: number, wire: Buffer) {
    this.size = size;
    this.wire = wire;
  }

  *[Symbol.iterator](): Iterator<Header> {
    const reader = new SizedReader(this.wire, signedBytes(this.size));
    for (let n = 0; n < this.size; n++) yield [reader.next(), reader.next()];
  }
}

/** Headers without their number, to be laid between others. */
export function layHeaders(headers: readonly Header[]): Buffer {
  const out = new WireWriter(Buffer.allocUnsafe(bytesOf(headers)));
  writeEach(out, headers);
  return out.buffer;
}

/** Bytes of headers on the wire, with their number. */
export function headersBytes(headers: RecordHeaders): number {
  if (headers instanceof WireHeaders) return headers.wire.length;
  return signedBytes(headers.size) + bytesOf(headers);
}

/** With their number. */
export function writeHeaders(out: WireWriter, headers: RecordHeaders): void {
  if (headers instanceof WireHeaders) return out.copy(headers.wire);
  out.signed(headers.size);
  writeEach(out, headers);
}

function bytesOf(headers: Iterable<Header>): number {
  let bytes = 0;
  for (const [name, value] of headers) bytes += sizedBytes(name) + sizedBytes(value);
  return bytes;
}

function writeEach(out: WireWriter, headers: Iterable<Header>): void {
  for (const [name, value] of headers) {
    out.sized(name);
    out.sized(value);
  }
}

/** Reads bytes behind their lengths: zigzag varints. */
class SizedReader {
  readonly #bytes: Buffer;
  #at: number;

  constructor(bytes: Buffer, at: number) {
    this.#bytes = bytes;
    this.#at = at;
  }

  next(): Buffer {
    const length = this.#length();
    const start = this.#at;
    this.#at += length;
    return this.#bytes.subarray(start, this.#at);
  }

  #length(): number {
    let value = 0;
    for (let factor = 1; ; factor *= 0x80) {
      const byte = this.#bytes[this.#at++] as number;
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value / 2;
    }
  }
}
