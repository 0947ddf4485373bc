import { describe, expect, it } from 'vitest';
import type { AvroSchema } from '../../src/avro/avro-schema.ts';
import { incompatibilities } from '../../src/avro/compatibility.ts';
import { ownEventSchemas } from '../support/event-schemas.ts';

const record = (name: string, ...fields: object[]) => ({ type: 'record', name, fields }) as AvroSchema;
const paths = (reader: AvroSchema, writer: AvroSchema) =>
  incompatibilities(reader, writer).map(({ path }) => path);

describe('a reader of one schema', () => {
  it.each(ownEventSchemas().all.map(({ file, codec }) => [file, JSON.parse(codec.schema)]))(
    'reads what was written with the same one: %s',
    (_, schema) => expect(incompatibilities(schema, schema)).toEqual([]),
  );

  it.each<[string, AvroSchema, AvroSchema, string[]]>([
    ['an int as a long', 'long', 'int', []],
    ['a long as a double', 'double', 'long', []],
    ['bytes as a string', 'string', 'bytes', []],
    ['no long as an int', 'int', 'long', ['']],
    ['no string as an int', 'int', 'string', ['']],
    ['a value as one of a union', ['null', 'long'], 'int', []],
    ['no union of which it lacks a branch', ['null', 'int'], ['null', 'string'], ['']],
    ['no union as a value', 'string', ['null', 'string'], ['']],
    ['items of an array', { type: 'array', items: 'long' }, { type: 'array', items: 'int' }, []],
    ['no items of another type', { type: 'array', items: 'int' }, { type: 'array', items: 'string' }, ['[]']],
    ['no values of another type', { type: 'map', values: 'int' }, { type: 'map', values: 'string' }, ['{}']],
    ['a field that it lacks', record('R'), record('R', { name: 'a', type: 'int' }), []],
    [
      'no field without a default that is not written',
      record('R', { name: 'a', type: 'int' }),
      record('R'),
      ['a'],
    ],
    ['a default', record('R', { name: 'a', type: 'int', default: 1 }), record('R'), []],
    [
      'a renamed field by its alias',
      record('R', { name: 'b', type: 'int', aliases: ['a'] }),
      record('R', { name: 'a', type: 'int' }),
      [],
    ],
    ['no record of another name', record('R'), record('S'), ['']],
    [
      'a record of another namespace',
      { ...(record('R') as object), namespace: 'x' } as AvroSchema,
      record('R'),
      [],
    ],
    [
      'no enum with more symbols',
      { type: 'enum', name: 'E', symbols: ['A'] },
      { type: 'enum', name: 'E', symbols: ['A', 'B'] },
      [''],
    ],
    [
      'an unknown symbol as the default',
      { type: 'enum', name: 'E', symbols: ['A'], default: 'A' },
      { type: 'enum', name: 'E', symbols: ['A', 'B'] },
      [],
    ],
    [
      'no fixed of another size',
      { type: 'fixed', name: 'F', size: 2 },
      { type: 'fixed', name: 'F', size: 3 },
      [''],
    ],
    ['a timestamp as a long', 'long', { type: 'long', logicalType: 'timestamp-millis' }, []],
  ])('reads %s', (_, reader, writer, expected) => expect(paths(reader, writer)).toEqual(expected));

  it('names the field, however deep it is', () => {
    const inner = (type: string) =>
      record('R', { name: 'a', type: ['null', { type: 'array', items: record('I', { name: 'b', type }) }] });
    expect(paths(inner('int'), inner('string'))).toEqual(['a[].b']);
    const direct = (type: string) =>
      record('R', { name: 'a', type: { type: 'array', items: record('I', { name: 'b', type }) } });
    expect(paths(direct('int'), direct('string'))).toEqual(['a[].b']);
  });

  it('names the union where several of its branches could be meant', () => {
    const branches = [
      { ...(record('n.R', { name: 'a', type: 'int' }) as object) },
      { ...(record('m.R', { name: 'a', type: 'long' }) as object) },
    ] as AvroSchema[];
    expect(incompatibilities(branches, record('R', { name: 'a', type: 'string' }))).toEqual([
      { path: '', why: "no branch of the reader's union reads record" },
    ]);
  });

  const root = (...fields: object[]) =>
    ({ ...(record('Root', ...fields) as object), namespace: 'n' }) as AvroSchema;
  const old = record('Old', { name: 'x', type: 'int' });
  const renamed = (...aliases: string[]) => ({
    ...(record('New', { name: 'x', type: 'int' }) as object),
    aliases,
  });
  const agents = (third: AvroSchema) =>
    root(
      { name: 'a', type: record('Agent', { name: 'v', type: 'int' }) },
      { name: 'b', type: record('m.Agent', { name: 'w', type: 'string' }) },
      { name: 'c', type: third },
    );

  const itself = (name: string) =>
    record('m.Agent', { name: 'v', type: 'int' }, { name: 'next', type: ['null', name], default: null });
  const spaced = (name: string) => ({ name: 'a', type: itself(name) });
  const plain = { name: 'b', type: record('Agent', { name: 'w', type: 'string' }) };

  it.each<[string, AvroSchema, AvroSchema, string[]]>([
    [
      'the type around it by the short name, whatever has that name in no namespace',
      record('Root', spaced('Agent'), plain),
      record('Root', plain, spaced('m.Agent')),
      [],
    ],
    ['a type of its own namespace by the short name', agents('Agent'), agents('n.Agent'), []],
    ['no type of that name in another namespace', agents('Agent'), agents('m.Agent'), ['c.v']],
    [
      'two types of one short name, one inside the other, each as itself',
      root({
        name: 'a',
        type: record('m.X', { name: 'x', type: record('o.X', { name: 'v', type: 'string' }) }),
      }),
      root({
        name: 'a',
        type: record('m.X', { name: 'x', type: record('o.X', { name: 'v', type: 'int' }) }),
      }),
      ['a.x.v'],
    ],
    [
      'a type inside one with a dotted name by its full name',
      record('m.Root', { name: 'a', type: record('I') }, { name: 'b', type: 'm.I' }),
      record('m.Root', { name: 'a', type: record('I') }, { name: 'b', type: 'I' }),
      [],
    ],
    [
      'a renamed type by its alias',
      root({ name: 'a', type: renamed('Old') }),
      root({ name: 'a', type: old }),
      [],
    ],
    [
      'a renamed type by its full alias',
      root({ name: 'a', type: renamed('n.Old') }),
      root({ name: 'a', type: old }),
      [],
    ],
    [
      'no renamed type by an alias of another namespace',
      root({ name: 'a', type: renamed('m.Old') }),
      root({ name: 'a', type: old }),
      ['a'],
    ],
    [
      'a renamed root with a dotted name by its short alias',
      { ...(record('n.New') as object), aliases: ['Old'] } as never,
      record('n.Old'),
      [],
    ],
    [
      'an error as a record',
      record('X', { name: 'v', type: 'int' }),
      { ...(record('X', { name: 'v', type: 'int' }) as object), type: 'error' } as AvroSchema,
      [],
    ],
    [
      'no field of an error as another type',
      { ...(record('X', { name: 'v', type: 'int' }) as object), type: 'error' } as AvroSchema,
      { ...(record('X', { name: 'v', type: 'string' }) as object), type: 'error' } as AvroSchema,
      ['v'],
    ],
    [
      'no field that could be one of two',
      record('R', { name: 'b', type: 'int', aliases: ['a'] }),
      record('R', { name: 'a', type: 'int' }, { name: 'b', type: 'int' }),
      ['b'],
    ],
  ])('reads %s', (_, reader, writer, expected) => expect(paths(reader, writer)).toEqual(expected));

  it('does not read a type that only its own recursion makes readable', () => {
    // In Q, P is first met while it is being compared, and must not stay readable.
    const schema = (type: string) =>
      record('Root', {
        name: 'u',
        type: [
          record(
            'P',
            { name: 'q', type: record('Q', { name: 'p', type: ['null', 'P'] }) },
            { name: 'x', type },
          ),
          'Q',
        ],
      });
    expect(paths(schema('int'), schema('string'))).toEqual(expect.arrayContaining(['u.x', 'u.p']));
  });

  it('is compared in no time where records are used twice at thirty levels', () => {
    const level = (n: number, type: string): AvroSchema =>
      n === 0
        ? record('R0', { name: 'v', type })
        : record(`R${n}`, { name: 'a', type: level(n - 1, type) }, { name: 'b', type: `R${n - 1}` });
    expect(incompatibilities(level(30, 'long'), level(30, 'int'))).toEqual([]);
    expect(paths(level(30, 'int'), level(30, 'long'))[0]).toBe(`${'a.'.repeat(30)}v`);
  });

  it('ends with a type inside itself', () => {
    const list = (type: string) =>
      record('List', { name: 'value', type }, { name: 'next', type: ['null', 'List'], default: null });
    expect(paths(list('long'), list('int'))).toEqual([]);
    expect(paths(list('int'), list('long'))).toContain('value');
  });
});
