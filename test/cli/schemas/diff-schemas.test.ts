import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { compareSchemas } from '../../../src/cli/schemas/diff-schemas.ts';
import { cli } from '../../support/cli.ts';

const record = (...fields: object[]) => ({ type: 'record', name: 'R', fields }) as never;
const inner = (type: string) => ({ type: 'record', name: 'Inner', fields: [{ name: 'x', type }] });
const a = { name: 'a', type: 'string' };
const optional = (name: string, type: unknown) => ({ name, type: ['null', type], default: null });

describe('a change of a schema', () => {
  it.each([
    ['an added field with a default', record(a), record(a, optional('b', 'int')), 'b', 'any order'],
    ['a removed field with a default', record(a, optional('b', 'int')), record(a), 'b', 'any order'],
    [
      'an added field without a default',
      record(a),
      record(a, { name: 'b', type: 'int' }),
      'b',
      'producers first',
    ],
    [
      'a removed field without a default',
      record(a, { name: 'b', type: 'int' }),
      record(a),
      'b',
      'consumers first',
    ],
    [
      'a wider number',
      record({ name: 'n', type: 'int' }),
      record({ name: 'n', type: 'long' }),
      'n',
      'consumers first',
    ],
    [
      'a narrower number',
      record({ name: 'n', type: 'long' }),
      record({ name: 'n', type: 'int' }),
      'n',
      'producers first',
    ],
    ['another type', record(a), record({ name: 'a', type: 'int' }), 'a', 'not compatible'],
    [
      'a field that may be null',
      record(a),
      record({ name: 'a', type: ['null', 'string'] }),
      'a',
      'consumers first',
    ],
    [
      'a change deep inside',
      record({ name: 'o', type: { type: 'array', items: inner('int') } }),
      record({ name: 'o', type: { type: 'array', items: inner('long') } }),
      'o[].x',
      'consumers first',
    ],
    ['another default', record({ ...a, default: 'x' }), record({ ...a, default: 'y' }), 'a', 'any order'],
  ])('%s says which side upgrades first', (_, from, to, field, upgrade) => {
    expect(compareSchemas(from, to)).toMatchObject([{ field, upgrade }]);
  });

  it('of documentation is none', () => {
    expect(compareSchemas(record(a), record({ ...a, doc: 'text' }))).toEqual([]);
  });

  const decimal = (scale: number, precision = 10) => ({
    type: 'bytes',
    logicalType: 'decimal',
    precision,
    scale,
  });
  const long = (logicalType?: string) => ({ type: 'long', ...(logicalType && { logicalType }) });
  it.each([
    ['the scale of a decimal', decimal(2), decimal(4), /scale 2\) becomes decimal \(precision 10, scale 4\)/],
    ['the precision of a decimal', decimal(2), decimal(2, 12), /precision 10.*becomes.*precision 12/],
    [
      'the scale of a decimal that can be null',
      ['null', decimal(2)],
      ['null', decimal(4)],
      /scale 2.*scale 4/,
    ],
    [
      'the unit of a timestamp',
      long('timestamp-millis'),
      long('timestamp-micros'),
      /millis becomes .*micros/,
    ],
    ['a decimal that becomes a text', decimal(2), 'string', /decimal .* becomes string/],
    ['a number that becomes a time', long(), long('timestamp-millis'), /long becomes timestamp-millis/],
    ['a time that becomes a number', ['null', long('timestamp-millis')], ['null', 'long'], /becomes .*long/],
    [
      'a day that becomes a time',
      { type: 'int', logicalType: 'date' },
      long('timestamp-millis'),
      /date becomes timestamp-millis/,
    ],
    [
      'the scale of a decimal beside another meaning',
      [long('timestamp-millis'), decimal(2)],
      [long('timestamp-millis'), decimal(4)],
      /scale 2.*scale 4/,
    ],
  ])('of the meaning of values is named, though registries take it: %s', (_, from, to, change) => {
    expect(compareSchemas(record({ name: 'x', type: from }), record({ name: 'x', type: to }))).toMatchObject([
      {
        field: 'x',
        change: expect.stringMatching(change),
        upgrade: 'values misread',
        why: expect.stringMatching(/registry takes it, but/),
      },
    ]);
  });

  it.each([
    [
      'a text that gets a meaning',
      record({ name: 'x', type: 'string' }),
      record({ name: 'x', type: { type: 'string', logicalType: 'uuid' } }),
      'x',
      'string becomes uuid',
    ],
    [
      'another meaning beside one',
      record({ name: 'x', type: [long('timestamp-millis'), decimal(2)] }),
      record({ name: 'x', type: [decimal(2), long('timestamp-millis')] }),
      'x',
      'timestamp-millis or decimal (precision 10, scale 2) becomes decimal (precision 10, scale 2) or timestamp-millis',
    ],
    [
      'the default of an enum',
      record({ name: 'x', type: { type: 'enum', name: 'E', symbols: ['A'] } }),
      record({ name: 'x', type: { type: 'enum', name: 'E', symbols: ['A'], default: 'A' } }),
      'x',
      'enum E (A) becomes enum E (A; default A)',
    ],
    [
      'a pointer',
      record({ ...a, pointer: '/a' }),
      record({ ...a, pointer: '/b' }),
      'a',
      'pointer "/a" becomes "/b"',
    ],
    [
      'tags',
      record({ ...a, 'confluent:tags': ['PII'] }),
      record(a),
      'a',
      'confluent:tags ["PII"] becomes none',
    ],
    [
      'tags of a type',
      record({ name: 'x', type: ['null', { type: 'string', 'confluent:tags': ['PII'] }] }),
      record({ name: 'x', type: ['null', 'string'] }),
      'x',
      'confluent:tags ["PII"] becomes none',
    ],
    [
      'tags of the items of an array',
      record({ name: 'x', type: { type: 'array', items: 'string' } }),
      record({ name: 'x', type: { type: 'array', items: { type: 'string', 'confluent:tags': ['PII'] } } }),
      'x',
      'confluent:tags none becomes ["PII"]',
    ],
    [
      'the policy of the type',
      record(a),
      { ...(record(a) as object), source: 'omit' } as never,
      '(the record)',
      'source none becomes "omit"',
    ],
  ])('that no reader minds is named too: %s', (_, from, to, field, change) => {
    expect(compareSchemas(from, to)).toEqual([{ field, change, upgrade: 'any order', why: '' }]);
  });

  it('is compared with the field that an alias names', () => {
    const old = { name: 'x', type: ['null', decimal(2)], default: null };
    const renamed = { ...old, name: 'y', type: ['null', decimal(4)], aliases: ['x'] };
    expect(compareSchemas(record(old), record(renamed))).toMatchObject([
      { field: 'x', change: 'removed', upgrade: 'any order' },
      {
        field: 'y',
        change: expect.stringMatching(/^added, null or decimal .* read from x in older records; .* becomes /),
        upgrade: 'values misread',
      },
    ]);
    const same = { ...old, name: 'y', aliases: ['x'] };
    expect(compareSchemas(record(old), record(same)).map(({ upgrade }) => upgrade)).toEqual([
      'any order',
      'any order',
    ]);
  });

  it('is none where only the place of a definition or the spelling of a name differs', () => {
    const named = (...fields: object[]) => ({ ...(record(...fields) as object), namespace: 'n' }) as never;
    const first = named({ name: 'o', type: inner('int') }, { name: 'p', type: 'Inner' });
    const second = named(
      { name: 'p', type: { ...inner('int'), name: 'n.Inner' } },
      { name: 'o', type: 'n.Inner' },
    );
    expect(compareSchemas(first, second)).toEqual([]);
  });

  it('is told at each field of a type that is referred to by name, and at the field that differs', () => {
    const two = (type: string) =>
      record({ name: 'o', type: ['null', inner(type)] }, { name: 'p', type: 'Inner' });
    expect(compareSchemas(two('int'), two('string')).map(({ field, upgrade }) => [field, upgrade])).toEqual([
      ['o.x', 'not compatible'],
      ['p.x', 'not compatible'],
    ]);
  });

  it('is found in no time where records are used twice at thirty levels, or stand inside themselves', () => {
    const level = (n: number, type: string): object => ({
      type: 'record',
      name: `L${n}`,
      fields:
        n === 0
          ? [
              { name: 'v', type },
              { name: 'again', type: ['null', 'L0'], default: null },
            ]
          : [
              { name: 'a', type: level(n - 1, type) },
              { name: 'b', type: `L${n - 1}` },
            ],
    });
    const rows = compareSchemas(level(30, 'int') as never, level(30, 'long') as never);
    expect(rows[0]).toMatchObject({ field: `${'a.'.repeat(30)}v`, change: 'int becomes long' });
  });
});

describe('hookline schemas diff', () => {
  const dir = mkdtempSync(join(tmpdir(), 'hookline-diff-'));
  afterAll(() => rmSync(dir, { recursive: true }));
  const file = (name: string, content: unknown) => {
    writeFileSync(join(dir, name), typeof content === 'string' ? content : JSON.stringify(content));
    return join(dir, name);
  };
  const diff = (...args: string[]) => cli({}, 'schemas', 'diff', ...args);
  const old = file('old.avsc', record(a));

  it('ends with 0 for what may be upgraded in any order, else with 1', async () => {
    const fine = await diff(old, file('fine.avsc', record(a, optional('b', 'int'))), '--json');
    expect([fine.exitCode, JSON.parse(fine.out)]).toMatchObject([0, [{ field: 'b', upgrade: 'any order' }]]);
    const bad = await diff(old, file('bad.avsc', record({ name: 'a', type: 'int' })));
    expect(bad.exitCode).toBe(1);
    expect(bad.out).toContain('not compatible');
  });

  it('says that nothing differs', async () => {
    expect(await diff(old, old)).toMatchObject({
      exitCode: 0,
      notes: expect.stringContaining('No difference'),
    });
  });

  it('says what is wrong with its arguments', async () => {
    expect(await diff(old)).toMatchObject({
      exitCode: 2,
      notes: expect.stringContaining('give two schema files'),
    });
    expect(await diff(old, file('broken.avsc', '{'))).toMatchObject({
      exitCode: 2,
      notes: expect.stringContaining('broken.avsc is not a schema file'),
    });
  });

  it.each([
    ['null', 'null is no Avro schema'],
    ['5', '5 is no Avro schema'],
    ['{"type":"record"}', 'fields'],
    ['{"name":"R"}', 'type'],
    ['"strin"', 'strin'],
    ['{"type":"record","name":"R","fields":[{"name":"x","type":"nosuch"}]}', 'nosuch'],
  ])('names the file and the fault where one is no schema: %s', async (text, words) => {
    for (const args of [
      [old, file('none.avsc', text)],
      [file('none.avsc', text), old],
    ])
      expect(await diff(...args)).toMatchObject({
        exitCode: 2,
        notes: expect.stringMatching(new RegExp(`none\\.avsc is not a schema file: .*${words}`)),
      });
  });

  it('ends with 1 where values would be misread', async () => {
    const amount = (scale: number) =>
      record({ name: 'x', type: { type: 'bytes', logicalType: 'decimal', precision: 9, scale } });
    const { exitCode, out } = await diff(file('two.avsc', amount(2)), file('four.avsc', amount(4)));
    expect([exitCode, out]).toEqual([1, expect.stringContaining('values misread')]);
  });
});
