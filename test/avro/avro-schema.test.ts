import { describe, expect, it } from 'vitest';
import { type AvroType, fieldsWithoutDefault, qualify } from '../../src/avro/avro-schema.ts';

const record = (name: string, fields: object, more: object = {}) => ({
  type: 'record',
  name,
  ...more,
  fields: Object.entries(fields).map(([field, type]) => ({ name: field, type })),
});
/** The type of each field of the root. */
const typesOf = (schema: object) => (qualify(schema as AvroType).schema.fields ?? []).map(({ type }) => type);

describe('a name in a schema', () => {
  it('without a dot belongs to the enclosing namespace', () => {
    const root = record('Root', { a: record('A', {}), b: 'A', c: ['null', { type: 'array', items: 'A' }] });
    const [a, b, c] = typesOf({ ...root, namespace: 'n' });
    expect([a, b, c]).toEqual([record('n.A', {}), 'n.A', ['null', { type: 'array', items: 'n.A' }]]);
  });

  it('with a dot carries its namespace, which the types inside inherit', () => {
    const outer = record('m.Outer', { in: record('In', {}), again: 'In', self: 'Outer' });
    const { schema, types } = qualify(record('Root', { outer, in: 'm.In' }, { namespace: 'n' }) as AvroType);
    expect([...types.keys()].sort()).toEqual(['m.In', 'm.Outer', 'n.Root']);
    expect(JSON.stringify(schema)).toContain(
      '{"name":"again","type":"m.In"},{"name":"self","type":"m.Outer"}',
    );
  });

  it('with a dot ignores an attribute namespace', () => {
    expect(typesOf(record('Root', { a: record('x.A', { self: 'A' }, { namespace: 'y' }) }))).toEqual([
      record('x.A', { self: 'x.A' }),
    ]);
  });

  it('of a primitive type is none of a namespace, and an empty namespace is none', () => {
    const root = record('Root', { a: 'string', b: record('B', {}, { namespace: '' }) }, { namespace: 'n' });
    expect(typesOf(root)).toEqual(['string', record('B', {})]);
  });

  it('can mean a type without a namespace where the enclosing one has none of that name', () => {
    const inner = record('n.Inner', { a: 'A', b: 'Root' });
    expect(typesOf(record('Root', { a: record('A', {}), inner }))[1]).toEqual(
      record('n.Inner', { a: 'A', b: 'Root' }),
    );
  });

  it('may be an alias: without a dot it belongs to the namespace of its type', () => {
    const type = { type: 'enum', name: 'm.E', symbols: ['A'], aliases: ['Old', 'n.Older'] };
    expect(typesOf(record('Root', { e: type }, { namespace: 'n' }))).toEqual([
      { ...type, aliases: ['m.Old', 'n.Older'] },
    ]);
  });
});

it('fields that can be null and have no default are found wherever they stand', () => {
  const inner = {
    type: 'record',
    name: 'I',
    fields: [
      { name: 'b', type: ['null', 'int'] },
      { name: 'c', type: 'int' },
    ],
  };
  const fields = [
    { name: 'id', type: 'string' },
    { name: 'good', type: ['null', 'string'], default: null },
    { name: 'a', type: ['null', 'string'] },
    { name: 'one', type: ['null', inner], default: null },
    { name: 'list', type: ['null', { type: 'array', items: { ...inner, name: 'J' } }], default: null },
    { name: 'again', type: ['null', 'I'], default: null },
  ];
  expect(fieldsWithoutDefault({ type: 'record', name: 'R', fields })).toEqual(['a', 'one.b', 'list.b']);
});
