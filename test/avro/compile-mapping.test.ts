import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readEventSchema } from '../../src/avro/event-schema.ts';
import { field, ownEventSchemas, schemaText } from '../support/event-schemas.ts';

const mappingOf = (...fields: object[]) =>
  readEventSchema({ name: 'x.avsc', text: schemaText(fields) }).mapping;

function map(mapping: ReturnType<typeof mappingOf>, message: unknown) {
  const drift: string[] = [];
  return { record: mapping(message, (at) => drift.push(at)), drift };
}

const timestamp = { type: 'long', logicalType: 'timestamp-millis' };

describe('the mapping', () => {
  it.each([
    ['string', 'text', 'text'],
    ['string', '', ''],
    ['boolean', false, false],
    ['int', -2147483648, -2147483648],
    ['long', 9007199254740990, 9007199254740990],
    ['long', -4503599627370496, -4503599627370496],
    ['double', 1.5, 1.5],
    ['float', 0, 0],
    [timestamp, '2026-11-20T10:00:00Z', 1795168800000],
    [timestamp, '2026-11-20T11:00:00.5+01:00', 1795168800500],
    [timestamp, 1795168800000, 1795168800000],
  ])('takes a %j from %j', (type, value, expected) => {
    expect(map(mappingOf(field('a', type)), { payload: { a: value } })).toMatchObject({
      record: { a: expected },
      drift: [],
    });
  });

  it.each([
    ['string', 5],
    ['string', '\ud800'],
    ['boolean', 'true'],
    ['int', 2147483648],
    ['int', 1.5],
    ['long', 9007199254740991],
    ['long', -4503599627370497],
    [timestamp, -4503599627370497],
    ['double', '1.5'],
    ['float', 1e300],
    [timestamp, '2026-11-20T10:00:00'],
    [timestamp, 'yesterday'],
    [timestamp, '2026-13-45T10:00:00Z'],
    [{ type: 'array', items: ['null', 'string'] }, {}],
    [{ type: 'record', name: 'R', fields: [field('b', 'string', '/b')] }, []],
    [{ type: 'record', name: 'R', fields: [field('b', 'string', '/b')] }, 'text'],
  ])('makes null and drift of what does not fit: %j from %j', (type, value) => {
    expect(map(mappingOf(field('a', type)), { payload: { a: value } })).toMatchObject({
      record: { a: null },
      drift: ['a'],
    });
  });

  it('makes null, and no drift, of what is absent or null', () => {
    const mapping = mappingOf(field('a', 'string'), field('b', 'string', '/x/y/z'));
    expect(map(mapping, { payload: { a: null }, x: 5 })).toMatchObject({
      record: { a: null, b: null },
      drift: [],
    });
    expect(map(mapping, null).drift).toEqual([]);
  });

  it('keeps the place of an item that does not fit, and names its field', () => {
    const items = {
      type: 'record',
      name: 'Item',
      fields: [field('id', 'string', '/id'), field('n', 'int', '/deep/n')],
    };
    const mapping = mappingOf(field('list', { type: 'array', items: ['null', items] }));
    const list = [{ id: 'a', deep: { n: 1 } }, 'no item', { id: 7 }, null];
    expect(map(mapping, { payload: { list } })).toMatchObject({
      record: { list: [{ id: 'a', n: 1 }, null, { id: null, n: null }, null] },
      drift: ['list[]', 'list[].id'],
    });
  });

  it('reads pointers relative to the record, escapes and array places too', () => {
    const inner = { type: 'record', name: 'Inner', fields: [field('self', 'string', '/0')] };
    const mapping = mappingOf(
      field('odd', 'string', '/a~1b/m~0n'),
      field('second', 'string', '/list/1'),
      field('inner', inner, '/list'),
    );
    const message = { 'a/b': { 'm~n': 'odd' }, list: ['x', 'y'] };
    expect(map(mapping, message).record).toMatchObject({ odd: 'odd', second: 'y', inner: null });
  });

  it('reaches nothing that JavaScript puts behind an object', () => {
    const mapping = mappingOf(
      field('a', 'string', '/constructor/name'),
      field('b', 'int', '/payload/length'),
    );
    expect(map(mapping, { payload: ['x'] })).toMatchObject({ record: { a: null, b: null }, drift: [] });
  });

  it('may name a type that was defined before', () => {
    const agent = { type: 'record', name: 'Agent', fields: [field('bic', 'string', '/BIC')] };
    const mapping = mappingOf(field('a', agent), field('b', 'Agent'), field('c', 'test.Agent'));
    const payload = { a: { BIC: '1' }, b: { BIC: '2' }, c: { BIC: '3' } };
    expect(map(mapping, { payload }).record).toMatchObject({
      a: { bic: '1' },
      b: { bic: '2' },
      c: { bic: '3' },
    });
  });

  it('of any JSON never throws, and what it makes can always be encoded and read back', () => {
    const shaped = fc.record(
      {
        type: fc.oneof(fc.constant('payment-status'), fc.jsonValue()),
        entityId: fc.oneof(fc.string({ unit: 'binary' }), fc.jsonValue()),
        payload: fc.oneof(
          fc.jsonValue(),
          fc.record({
            status: fc.jsonValue(),
            pacs002: fc.record({
              FIToFIPmtStsRpt: fc.record({ GrpHdr: fc.jsonValue(), TxInfAndSts: fc.array(fc.jsonValue()) }),
            }),
          }),
        ),
      },
      { requiredKeys: [] },
    );
    const schemas = ownEventSchemas();
    fc.assert(
      fc.property(fc.oneof(shaped, fc.jsonValue()), fc.constantFrom(...schemas.all), (message, schema) => {
        const record = schema.mapping(message, () => {});
        Object.assign(record, {
          eventId: 'e',
          subscription: 's',
          receivedAt: 1,
          source: JSON.stringify(message),
        });
        const value = schema.codec.encode(record, 1, 16);
        expect({ ...schema.codec.decode(value.subarray(5)) }).toEqual(record);
      }),
      { numRuns: 500 },
    );
  });

  it('walks a message no deeper than its schema', () => {
    let deep: unknown = 'end';
    for (let n = 0; n < 100_000; n++) deep = [deep];
    expect(map(mappingOf(field('a', 'string')), { payload: { a: deep } }).drift).toEqual(['a']);
  });
});
