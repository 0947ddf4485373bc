import { describe, expect, it } from 'vitest';
import { TooLong } from '../../src/avro/avro-writer.ts';
import { readEventSchema } from '../../src/avro/event-schema.ts';
import { HEADER_LENGTH } from '../../src/avro/record-codec.ts';
import { field, schemaText } from '../support/event-schemas.ts';

const ENVELOPE = { eventId: 'id', subscription: 'ledger-eu', receivedAt: 0 };
const FIELDS = Array.from({ length: 40 }, (_, n) => `f${n}`);

const list = (name: string, ...fields: object[]) => ({
  type: 'array',
  items: { type: 'record', name, fields },
});
const { transcoder, codec } = readEventSchema({
  name: 'wide.avsc',
  text: schemaText(
    [
      field('wide', list('Wide', ...FIELDS.map((name) => field(name, 'string', `/${name}`))), '/wide'),
      field('other', { type: 'array', items: ['null', 'string'] }, '/other'),
      field(
        'outer',
        list(
          'Outer',
          field('inner', list('Inner', ...FIELDS.map((name) => field(name, 'long', `/${name}`))), '/in'),
        ),
        '/outer',
      ),
      field('text', 'string', '/text'),
      field('again', 'string', '/text'),
      field('once more', 'string', '/text'),
    ].map((one) => ({ ...one, name: one.name.replace(' ', '_') })),
  ),
});

const find = (message: string, maxEach = Number.POSITIVE_INFINITY, maxAll = maxEach) =>
  transcoder.find(Buffer.from(message), { maxEach, maxAll });
const write = (found: ReturnType<typeof find>, maxBytes?: number) =>
  found.write(ENVELOPE, 1, () => {}, { maxBytes });
/** A list of empty items: forty bytes of each three. */
const empty = (count: number) => `[${'{},'.repeat(count - 1)}{}]`;
const held = () => process.memoryUsage().arrayBuffers;

describe('a list', () => {
  it('is kept up to the bytes that there are for it, and only walked over beyond them', () => {
    for (const [count, bytes] of [
      [100, 4_000],
      [101, Number.POSITIVE_INFINITY],
    ] as const) {
      const found = find(`{"type":"x","wide":${empty(count)},"entityId":"e"}`, 4_000);
      expect([found.type, found.entityId, found.listBytes]).toEqual(['x', 'e', bytes]);
      if (bytes < 5_000) expect(write(found).length).toBeGreaterThan(4_000);
      else expect(() => write(found)).toThrow(TooLong);
      found.drop();
    }
  });

  it('is kept beside others only while all of them have room', () => {
    const message = (count: number) => `{"wide":${empty(count)},"other":["${'x'.repeat(1_000)}"]}`;
    for (const [count, bytes] of [
      [50, 3_003],
      [60, Number.POSITIVE_INFINITY],
    ] as const) {
      const found = find(message(count), 3_100);
      expect(found.listBytes).toBe(bytes);
      found.drop();
    }
    // Each by itself, as in a record that can leave one out.
    const found = find(message(60), 2_400, Number.POSITIVE_INFINITY);
    expect(found.listBytes).toBe(3_403);
    found.drop();
  });

  it('is too long where one in its elements is', () => {
    const found = find(`{"outer":[{"in":${empty(10)}},{"in":${empty(1_000)}},{"in":[]}]}`, 20_000);
    expect(found.listBytes).toBe(Number.POSITIVE_INFINITY);
    found.drop();
    const short = find(`{"outer":[{"in":${empty(10)}},{"in":${empty(480)}},{"in":[]}]}`, 20_000);
    const { outer } = codec.decode(write(short).subarray(HEADER_LENGTH)) as { outer: { inner: [] }[] };
    expect(outer.map(({ inner }) => inner.length)).toEqual([10, 480, 0]);
    short.drop();
  });

  it('that was too long takes nothing from the next message', () => {
    find(`{"wide":${empty(1_000)}}`, 4_000).drop();
    const found = find(`{"wide":${empty(100)},"outer":[{"in":[]}]}`, 4_100);
    // A list without elements is a byte for its presence and one for its end.
    expect(found.listBytes).toBe(4_002);
    found.drop();
  });

  it.each([
    ['its elements are', `{"wide":${empty(400_000)}}`],
    ['a list in one of its elements is', `{"outer":[{"in":${empty(400_000)}}]}`],
  ])('holds no more than there is for it, however much %s', (_, text) => {
    const message = Buffer.from(text);
    const before = held();
    const found = transcoder.find(message, { maxEach: 1_000_000, maxAll: 1_000_000 });
    expect(held() - before).toBeLessThan(500_000);
    expect(() => write(found)).toThrow(TooLong);
    expect(held() - before).toBeLessThan(500_000);
    found.drop();
  });

  it('gives back what it outgrows at once', () => {
    const message = Buffer.from(`{"outer":[{"in":${empty(400_000)}}]}`);
    const before = held();
    const found = transcoder.find(message);
    // Once, with what it may still grow by: not its smaller beginnings, nor the list inside.
    expect(held() - before).toBeLessThan(1.6 * found.listBytes);
    found.drop();
    expect(held() - before).toBeLessThan(500_000);
  });
});

describe('records of a list', () => {
  it('have nulls where nothing stands, however many fields there are, and count as drift where they are no objects', () => {
    const names = Array.from({ length: 120 }, (_, n) => `f${n}`);
    const schema = readEventSchema({
      name: 'wider.avsc',
      text: schemaText([
        field('wide', list('Wide', ...names.map((name) => field(name, 'string', `/${name}`))), '/wide'),
      ]),
    });
    const drift: string[] = [];
    const found = schema.transcoder.find(Buffer.from('{"wide":[0,{"f60":"x"},[{}],{},"text",null]}'));
    const value = found.write(ENVELOPE, 1, (name, count) => drift.push(`${name} ${count}`));
    found.drop();
    const { wide } = schema.codec.decode(value.subarray(HEADER_LENGTH)) as { wide: object[] };
    const nulls = Object.fromEntries(names.map((name) => [name, null]));
    expect(wide.map((one) => ({ ...one }))).toEqual([nulls, { ...nulls, f60: 'x' }, ...Array(4).fill(nulls)]);
    expect(drift).toEqual(['wide[] 4']);
  });
});

describe('a record with its message', () => {
  it('is not written beyond the bytes that there are for it, and its memory is given back', () => {
    const found = find(`{"text":"${'x'.repeat(1_000_000)}"}`);
    const { length } = write(found);
    expect(length).toBeGreaterThan(4_000_000);
    expect(write(found, length)).toHaveLength(length);
    const before = held();
    expect(() => write(found, length - 1)).toThrow(TooLong);
    expect(held() - before).toBeLessThan(500_000);
    found.drop();
  });

  it('counts a text by the bytes that it becomes, not by those of its escapes', () => {
    const found = find(`{"text":"${'\\"'.repeat(100_000)}"}`);
    const { length } = write(found);
    expect(length).toBeLessThan(550_000);
    expect(write(found, length)).toHaveLength(length);
    found.drop();
  });
});
