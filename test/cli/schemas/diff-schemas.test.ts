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

  it('of documentation or attributes is none', () => {
    expect(compareSchemas(record(a), record({ ...a, doc: 'text', pointer: '/a' }))).toEqual([]);
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
});
