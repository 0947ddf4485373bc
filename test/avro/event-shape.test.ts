import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type EventSchema, readEventSchema } from '../../src/avro/event-schema.ts';
import { field, ownEventSchemas, schemaText } from '../support/event-schemas.ts';
import { listDrift, mappingOf } from '../support/map-objects.ts';

const schemaOf = (...fields: object[]) => readEventSchema({ name: 'x.avsc', text: schemaText(fields) });
const OWN = { eventId: 'e', subscription: 's', receivedAt: 1 };

/** The record that a message becomes, as a consumer reads it. */
function map({ transcoder, codec }: EventSchema, message: unknown, source = JSON.stringify(message)) {
  const drift: string[] = [];
  const value = transcoder.find(Buffer.from(source)).write(OWN, 1, listDrift(drift));
  return { record: { ...codec.decode(value.subarray(5)) }, drift: drift.sort() };
}

const timestamp = { type: 'long', logicalType: 'timestamp-millis' };

describe('a field with a pointer', () => {
  it.each([
    ['string', 'text', 'text'],
    ['string', '', ''],
    ['boolean', true, true],
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
    expect(map(schemaOf(field('a', type)), { payload: { a: value } })).toMatchObject({
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
    expect(map(schemaOf(field('a', type)), { payload: { a: value } })).toMatchObject({
      record: { a: null },
      drift: ['a'],
    });
  });

  it('makes null, and no drift, of what is absent or null', () => {
    const schema = schemaOf(field('a', 'string'), field('b', 'string', '/x/y/z'));
    expect(map(schema, { payload: { a: null }, x: 5 })).toMatchObject({
      record: { a: null, b: null },
      drift: [],
    });
    expect(map(schema, null).drift).toEqual([]);
  });

  it('keeps the index of an item that does not fit, as a record of nulls, and names its field', () => {
    const items = {
      type: 'record',
      name: 'Item',
      fields: [field('id', 'string', '/id'), field('n', 'int', '/deep/n')],
    };
    const schema = schemaOf(field('list', { type: 'array', items }));
    const list = [{ id: 'a', deep: { n: 1 } }, 'no item', { id: 7 }, null];
    const nulls = { id: null, n: null };
    expect(map(schema, { payload: { list } })).toMatchObject({
      record: { list: [{ id: 'a', n: 1 }, nulls, nulls, nulls] },
      drift: ['list[]', 'list[]', 'list[].id'],
    });
  });

  it('reads pointers relative to the record, escapes and array places too', () => {
    const inner = { type: 'record', name: 'Inner', fields: [field('self', 'string', '/0')] };
    const schema = schemaOf(
      field('odd', 'string', '/a~1b/m~0n'),
      field('second', 'string', '/list/1'),
      field('inner', inner, '/list'),
    );
    const message = { 'a/b': { 'm~n': 'odd' }, list: ['x', 'y'] };
    expect(map(schema, message).record).toMatchObject({ odd: 'odd', second: 'y', inner: null });
  });

  it('reaches nothing that JavaScript puts behind an object', () => {
    const schema = schemaOf(field('a', 'string', '/constructor/name'), field('b', 'int', '/payload/length'));
    expect(map(schema, { payload: ['x'] })).toMatchObject({ record: { a: null, b: null }, drift: [] });
  });

  it('may name a type that was defined before', () => {
    const agent = { type: 'record', name: 'Agent', fields: [field('bic', 'string', '/BIC')] };
    const schema = schemaOf(field('a', agent), field('b', 'Agent'), field('c', 'test.Agent'));
    const payload = { a: { BIC: '1' }, b: { BIC: '2' }, c: { BIC: '3' } };
    expect(map(schema, { payload }).record).toMatchObject({
      a: { bic: '1' },
      b: { bic: '2' },
      c: { bic: '3' },
    });
  });

  it('names a type by its short name in the enclosing namespace, whatever other namespaces define', () => {
    const one = { type: 'record', name: 'Agent', fields: [field('v', 'string', '/v')] };
    const two = {
      type: 'record',
      name: 'Agent',
      namespace: 'test.two',
      fields: [field('w', 'long', '/w'), field('z', 'string', '/z')],
    };
    const schema = schemaOf(
      field('a', one),
      field('b', two),
      field('c', 'Agent'),
      field('d', 'test.two.Agent'),
    );
    const all = { v: 'V', w: 7, z: 'Z' };
    expect(map(schema, { payload: { a: all, b: all, c: all, d: all } }).record).toMatchObject({
      a: { v: 'V' },
      b: { w: 7, z: 'Z' },
      c: { v: 'V' },
      d: { w: 7, z: 'Z' },
    });
  });

  it('names a type inside one with a dotted name in the namespace of that name', () => {
    const inner = { type: 'record', name: 'Id', fields: [field('v', 'string', '/v')] };
    const outer = {
      type: 'record',
      name: 'other.Agent',
      fields: [field('id', inner, '/id'), field('again', 'Id', '/id')],
    };
    const schema = schemaOf(field('a', outer), field('b', 'other.Id', '/payload/a/id'));
    expect(map(schema, { payload: { a: { id: { v: 'V' } } } }).record).toMatchObject({
      a: { id: { v: 'V' }, again: { v: 'V' } },
      b: { v: 'V' },
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
        const source = JSON.stringify(message);
        const mapped = mappingOf(schema.codec.schema)(message, () => {});
        expect(map(schema, message).record).toEqual({ ...mapped, ...OWN, source, sourceRef: null });
      }),
      { numRuns: 500 },
    );
  });

  it('walks a message no deeper than its schema', () => {
    const source = `{"payload":{"a":${'['.repeat(100_000)}1${']'.repeat(100_000)}}}`;
    expect(map(schemaOf(field('a', 'string')), null, source).drift).toEqual(['a']);
  });
});
