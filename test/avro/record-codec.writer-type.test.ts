import { describe, expect, it } from 'vitest';
import { type FoundSchema, writerTypeOf } from '../../src/avro/record-codec.ts';

const none = () => Promise.reject(new Error('asked for a reference'));
const found = (schema: unknown, more: Partial<FoundSchema> = {}): FoundSchema => ({
  schema: JSON.stringify(schema),
  ...more,
});
const record = (name: string, ...fields: object[]) => ({ type: 'record', name, fields });

describe("a writer's type", () => {
  it('is compiled with the schemas that it refers to, each fetched once', async () => {
    const asked: string[] = [];
    const refersTo = (subject: string) => ({ references: [{ name: subject, subject, version: 1 }] });
    const others: Record<string, FoundSchema> = {
      a: found(record('A', { name: 'b', type: 'B' }), refersTo('b')),
      b: found(record('B', { name: 'n', type: 'int' })),
    };
    const type = await writerTypeOf(
      found(record('R', { name: 'a', type: 'A' }, { name: 'b', type: 'B' }), {
        references: [...refersTo('a').references, ...refersTo('b').references],
      }),
      async ({ subject }) => {
        asked.push(subject);
        return others[subject] ?? expect.fail('unknown');
      },
    );
    expect(type.fromBuffer(Buffer.from([2, 4]))).toEqual({ a: { b: { n: 1 } }, b: { n: 2 } });
    expect(asked).toEqual(['a', 'b']);
  });

  const doubling = Array.from({ length: 40 }, (_, n) => n).reduce<unknown>(
    (inner, n) =>
      record(
        `L${n}`,
        { name: 'a', type: inner, default: {} },
        { name: 'b', type: n === 0 ? 'int' : `L${n - 1}`, default: n === 0 ? 0 : {} },
      ),
    record('Leaf', { name: 'x', type: 'int', default: 0 }),
  );
  it('does not work out the defaults of a writer', async () => {
    expect((await writerTypeOf(found(doubling), none)).typeName).toBe('record');
  });

  it.each([
    ['no Avro', { schema: '{"type":"record"}' }],
    ['no JSON', { schema: 'record R' }],
    ['another kind', found({}, { schemaType: 'PROTOBUF' })],
    ['a megabyte', found(record('R', { name: 'a', type: 'int', doc: 'x'.repeat(1024 * 1024) }))],
    [
      'a hundred thousand levels',
      { schema: `${'{"type":"array","items":'.repeat(100_000)}"int"${'}'.repeat(100_000)}` },
    ],
    [
      'some thousand levels',
      { schema: `${'{"type":"array","items":'.repeat(5_000)}"int"${'}'.repeat(5_000)}` },
    ],
    ['a name that is code', found(record('R(){},process.exit()//'))],
    [
      'fields by the ten thousand',
      found(record('R', ...Array.from({ length: 20_000 }, (_, n) => ({ name: `f${n}`, type: 'int' })))),
    ],
  ])('is none of %s', async (_, schema) => {
    await expect(writerTypeOf(schema, none)).rejects.toMatchObject({ code: 'SCHEMA_INVALID' });
  });

  it('is none where its references never end', async () => {
    let version = 0;
    const next = (): FoundSchema =>
      found('int', { references: [{ name: 'n', subject: 's', version: version++ }] });
    await expect(writerTypeOf(next(), async () => next())).rejects.toMatchObject({ code: 'SCHEMA_INVALID' });
    expect(version).toBeLessThan(200);
  });
});
