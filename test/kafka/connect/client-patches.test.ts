import { createRecordsBatch, Reader, readRecordsBatch, Writer } from '@platformatic/kafka';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { layInPlace } from '../../../src/kafka/connect/client-patches.ts';

type Rest = { readonly key: Buffer; readonly headers: Map<Buffer, Buffer> };

const TIMESTAMP = 1795168800000n;
const MESSAGE = { topic: 'payments.payment-status', partition: 0, timestamp: TIMESTAMP };
const ROOM = 600;

/** As the client makes a Produce request: a batch with its checksum, and what stands before and behind it. */
function requestOf(values: readonly Buffer[], rest: Rest, correlationId = 1): Buffer {
  const batch = createRecordsBatch(values.map((value) => ({ ...MESSAGE, ...rest, value })));
  const request = Writer.create().appendInt32(correlationId).appendString('payments.payment-status');
  return request.appendFrom(batch).appendTaggedFields().prependLength().buffer;
}

/** The value in the middle of memory of its own. */
function withRoom(value: Buffer, room = ROOM): Buffer {
  const memory = Buffer.alloc(value.length + 2 * room, 0xee);
  value.copy(memory, room);
  return memory.subarray(room, room + value.length);
}

function laid(value: Buffer, room = ROOM): Buffer {
  const inRoom = withRoom(value, room);
  layInPlace(inRoom, room);
  return inRoom;
}

const bytes = (most: number) =>
  fc.uint8Array({ minLength: 1, maxLength: most, size: 'max' }).map((made) => Buffer.from(made));
const rest = (most: number) =>
  fc.record({
    key: bytes(most),
    headers: fc
      .array(fc.tuple(bytes(20), bytes(most)), { maxLength: 4 })
      .map((headers) => new Map<Buffer, Buffer>(headers)),
  });

describe('a batch that is laid around its value', () => {
  it('is the one that the client makes elsewhere, in the memory of the value, which stays as it was', () => {
    fc.assert(
      fc.property(bytes(2_000), rest(60), (value, rest) => {
        const inPlace = laid(value);
        const request = requestOf([inPlace], rest);
        expect(request.buffer).toBe(inPlace.buffer);
        expect(request.equals(requestOf([Buffer.from(value)], rest))).toBe(true);
        expect(inPlace.equals(value)).toBe(true);
      }),
    );
  });

  it('is made again for another attempt', () => {
    const value = Buffer.from('the record');
    const again = { key: Buffer.from('e-1'), headers: new Map([[Buffer.from('ce_id'), Buffer.from('1')]]) };
    const inPlace = laid(value);
    for (const correlationId of [1, 2]) {
      const expected = requestOf([Buffer.from(value)], again, correlationId);
      expect(requestOf([inPlace], again, correlationId).equals(expected)).toBe(true);
    }
  });

  it('is made elsewhere where the room is too small, of one value or of two', () => {
    const seen = { here: 0, elsewhere: 0 };
    fc.assert(
      fc.property(bytes(200), bytes(200), rest(200), fc.boolean(), (first, second, rest, isAlone) => {
        const inPlace = isAlone ? [laid(first, 250)] : [laid(first, 250), laid(second, 250)];
        const copies = inPlace.map((value) => Buffer.from(value));
        const request = requestOf(inPlace, rest);
        expect(request.equals(requestOf(copies, rest))).toBe(true);
        expect(inPlace.map((value, n) => value.equals(copies[n] as Buffer))).not.toContain(false);
        if (request.buffer === inPlace[0]?.buffer) seen.here++;
        else seen.elsewhere++;
      }),
    );
    expect(Math.min(seen.here, seen.elsewhere)).toBeGreaterThan(5);
  });

  it('writes no byte beyond the room', () => {
    const before = 16;
    const room = 200;
    const memory = Buffer.alloc(1_000, 0xee);
    const value = memory.subarray(before + room, before + room + 100);
    layInPlace(value, room);
    for (const keyBytes of [1, 60, 90, 95, 100, 105, 110, 150]) {
      requestOf([value], {
        key: Buffer.alloc(keyBytes, 1),
        headers: new Map([[value.subarray(0, 3), memory.subarray(900, 900 + keyBytes)]]),
      });
    }
    const touched = [...memory.keys()].filter((at) => memory[at] !== 0xee);
    expect(Math.min(...touched)).toBeGreaterThanOrEqual(before);
    expect(Math.max(...touched)).toBeLessThan(before + room + 100 + room);
  });
});

it('a batch is joined once: its request takes it as one piece', () => {
  const value = Buffer.from('the record');
  const key = Buffer.from('e-1');
  const headers = new Map([[Buffer.from('ce_id'), Buffer.from('1')]]);
  const batch = createRecordsBatch(Array.from({ length: 100 }, () => ({ ...MESSAGE, key, headers, value })));
  expect(batch.length).toBeGreaterThan(100 * value.length);
  expect(batch.buffers.length).toBeLessThan(10);
  expect(batch.buffer.length).toBe(batch.length);
});

it('keeps the first hundred headers of a record, which may have 200,000, and reads on behind the others', () => {
  const names = Array.from({ length: 100_000 }, (_, n) => `h${n}`);
  const headers = new Map(names.map((name) => [Buffer.from(name), Buffer.from('v')]));
  const records = ['first', 'second'].map((value) => ({ ...MESSAGE, headers, value: Buffer.from(value) }));
  const read = readRecordsBatch(Reader.from(createRecordsBatch(records).buffer)).records;
  expect(read.map(({ value }) => String(value))).toEqual(['first', 'second']);
  for (const one of read) expect(one.headers.map(([name]) => String(name))).toEqual(names.slice(0, 100));
});
