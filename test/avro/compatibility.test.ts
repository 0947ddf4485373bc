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
    expect(paths(inner('int'), inner('string'))).toEqual(['a']);
    const direct = (type: string) =>
      record('R', { name: 'a', type: { type: 'array', items: record('I', { name: 'b', type }) } });
    expect(paths(direct('int'), direct('string'))).toEqual(['a[].b']);
  });

  it('ends with a type inside itself', () => {
    const list = (type: string) =>
      record('List', { name: 'value', type }, { name: 'next', type: ['null', 'List'], default: null });
    expect(paths(list('long'), list('int'))).toEqual([]);
    expect(paths(list('int'), list('long'))).toContain('value');
  });
});
