import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readEventSchema } from '../../src/avro/event-schema.ts';
import { HEADER_LENGTH } from '../../src/avro/record-codec.ts';
import { field, schemaText } from '../support/event-schemas.ts';
import { listDrift } from '../support/map-objects.ts';

/** A schema with texts and lists at several depths. */
const schema = readEventSchema({
  name: 'x.avsc',
  text: schemaText([
    field('a', 'string', '/a'),
    field(
      'in',
      {
        type: 'record',
        name: 'Inner',
        fields: [
          field('b', 'string', '/b'),
          field('n', 'long', '/n'),
          field('list', { type: 'array', items: ['null', 'string'] }, '/list'),
        ],
      },
      '/in',
    ),
  ]),
});

const ENVELOPE = { eventId: 'id', subscription: 'ledger-eu', receivedAt: 0 };
const reference = { uri: 's3://events/x.json', bytes: 7, sha256: '0'.repeat(64) };

function write(message: unknown, maxBytes: number, maxEach = Number.POSITIVE_INFINITY) {
  const drift: string[] = [];
  const room = { maxEach, maxAll: Number.POSITIVE_INFINITY };
  const found = schema.transcoder.find(Buffer.from(JSON.stringify(message)), room);
  const { value } = found.writeWithout(ENVELOPE, 1, listDrift(drift), { reference, maxBytes });
  found.drop();
  const record = schema.codec.decode(value.subarray(HEADER_LENGTH));
  const { omitted } = record.sourceRef as { omitted: string[] };
  return { bytes: value.length, record, omitted, drift };
}

describe('a record without its message', () => {
  it('has all values where they fit', () => {
    const { record, omitted } = write({ a: 'x', in: { b: 'y', n: 1, list: ['z'] } }, 1_000);
    expect(record).toMatchObject({ source: null, a: 'x', in: { b: 'y', n: 1, list: ['z'] } });
    expect(omitted).toEqual([]);
  });

  it('leaves out the largest value first, at whatever depth, and no more than it must', () => {
    const { record, omitted, drift, bytes } = write(
      { a: 'x'.repeat(300), in: { b: 'y'.repeat(600), n: 1, list: ['z'] } },
      800,
    );
    expect(omitted).toEqual(['in.b']);
    expect(record).toMatchObject({ a: 'x'.repeat(300), in: { b: null, n: 1, list: ['z'] } });
    expect(bytes).toBeLessThanOrEqual(800);
    expect(drift).toEqual([]);
  });

  it('leaves out an array as a whole', () => {
    const list = Array.from({ length: 100 }, () => 'z'.repeat(10));
    const { record, omitted } = write({ a: 'x', in: { list } }, 800);
    expect(omitted).toEqual(['in.list']);
    expect(record).toMatchObject({ a: 'x', in: { list: null } });
  });

  it('leaves out an array that was walked over only, as it cannot fit', () => {
    const list = Array.from({ length: 1_000 }, () => 'z'.repeat(10));
    const { omitted } = write({ a: 'x', in: { list } }, 800, 800);
    expect(omitted).toEqual(['in.list']);
  });

  it('measures texts as they are in the record, not as JSON escapes them', () => {
    // 600 characters of JSON, 100 bytes in the record.
    const message = `{"a":"${'\\u0061'.repeat(100)}","in":{"b":"${'y'.repeat(550)}"}}`;
    const found = schema.transcoder.find(Buffer.from(message));
    const { value } = found.writeWithout(ENVELOPE, 1, () => {}, { reference, maxBytes: 700 });
    found.drop();
    expect(schema.codec.decode(value.subarray(HEADER_LENGTH))).toMatchObject({
      a: 'a'.repeat(100),
      in: { b: null },
      sourceRef: { omitted: ['in.b'] },
    });
  });

  it('leaves out a text with escapes, and counts half a surrogate pair as the drift that it is', () => {
    const message = `{"a":"${'\\u0061'.repeat(600)}","in":{"b":"${'y'.repeat(700)}\\ud800"}}`;
    const drift: string[] = [];
    const found = schema.transcoder.find(Buffer.from(message));
    const { value, omitted } = found.writeWithout(ENVELOPE, 1, listDrift(drift), {
      reference,
      maxBytes: 700,
    });
    found.drop();
    expect([value.length <= 700, omitted, drift]).toEqual([true, ['a'], ['in.b']]);
  });

  it('still counts as drift what does not fit its field', () => {
    const { drift, omitted, record } = write({ a: 1, in: { b: 'y'.repeat(900), n: 'x', list: [2] } }, 600);
    expect(record).toMatchObject({ a: null, in: { b: null, n: null, list: [null] } });
    expect(drift.sort()).toEqual(['a', 'in.list[]', 'in.n']);
    expect(omitted).toEqual(['in.b']);
  });

  it('is as small as it can be where even that does not fit', () => {
    const { omitted, record } = write({ a: 'x'.repeat(100), in: { b: 'y'.repeat(100) } }, 10);
    expect(omitted.sort()).toEqual(['a', 'in.b']);
    expect(record).toMatchObject({ a: null, in: { b: null } });
  });

  it('fits, keeps what is smaller than all that is left out, and could not keep the smallest of those', () => {
    const texts = fc.string({ maxLength: 400, unit: 'grapheme' });
    const messages = fc.record({
      a: texts,
      in: fc.record({ b: texts, list: fc.array(texts, { maxLength: 6 }) }),
    });
    fc.assert(
      fc.property(messages, fc.integer({ min: 300, max: 2_000 }), (message, maxBytes) => {
        const sizes = new Map([
          ['a', Buffer.byteLength(message.a)],
          ['in.b', Buffer.byteLength(message.in.b)],
          ['in.list', message.in.list.reduce((sum, text) => sum + Buffer.byteLength(text) + 3, 2)],
        ]);
        const { bytes, omitted } = write(message, maxBytes);
        const left = omitted.map((path) => sizes.get(path) ?? 0);
        const kept = [...sizes].filter(([path]) => !omitted.includes(path)).map(([, size]) => size);
        expect(bytes <= maxBytes || kept.every((size) => size < 30)).toBe(true);
        // A list's bytes are known only roughly here.
        if (left.length > 0) expect(Math.max(0, ...kept)).toBeLessThanOrEqual(Math.min(...left) + 20);
        if (left.length > 0) expect(bytes + Math.min(...left) + 20).toBeGreaterThan(maxBytes - 20);
      }),
    );
  });
});
