import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  headersBytes,
  layHeaders,
  type RecordHeaders,
  WireHeaders,
  writeHeaders,
} from '../../src/core/record-headers.ts';
import { signedBytes, WireWriter } from '../../src/core/wire-writer.ts';

const bytes = (most: number) =>
  fc.uint8Array({ maxLength: most, size: 'max' }).map((made) => Buffer.from(made));
const headers = fc.array(fc.tuple(bytes(70), bytes(20_000)), { maxLength: 70 });

const written = (given: RecordHeaders): Buffer => {
  const out = new WireWriter(Buffer.alloc(headersBytes(given)));
  writeHeaders(out, given);
  expect(out.at).toBe(out.buffer.length);
  return out.buffer;
};

describe('headers that are laid out for the wire', () => {
  it('are the same bytes as those of a map, and say what they are', () => {
    fc.assert(
      fc.property(headers, (entries) => {
        const wire = written(new Map(entries));
        const laid = new WireHeaders(entries.length, wire);
        expect([...laid]).toEqual(entries);
        expect(written(laid).equals(wire)).toBe(true);
        expect(wire.subarray(signedBytes(entries.length)).equals(layHeaders(entries))).toBe(true);
      }),
      { numRuns: 60 },
    );
  });
});
