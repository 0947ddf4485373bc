import avro from 'avsc';
import { describe, expect, it } from 'vitest';
import { compileCodec } from '../../src/avro/record-codec.ts';
import { createOwnReader, createRecordReader, createWriterReader } from '../../src/avro/record-reader.ts';
import type { Registry } from '../../src/avro/registry.ts';
import { HooklineError } from '../../src/core/errors.ts';

const schema = (...fields: object[]) => ({ type: 'record', name: 'R', fields });
const string = (name: string) => ({ name, type: 'string' });
const optional = (name: string) => ({ name, type: ['null', 'string'], default: null });

const own = compileCodec(schema(string('a'), optional('b')));
const other = compileCodec(schema(string('a'), optional('c')));
const foreign = compileCodec(schema({ name: 'a', type: 'int' }));
const types = new Map([
  [1, own],
  [2, other],
  [3, foreign],
]);

function registryWith(answer: (id: number) => HooklineError | undefined = () => undefined) {
  const asked: number[] = [];
  const writerType: Registry['writerType'] = async (id) => {
    asked.push(id);
    const error = answer(id);
    if (error) throw error;
    const codec = types.get(id);
    if (!codec) throw new HooklineError('SCHEMA_NOT_REGISTERED');
    return avro.Type.forSchema(JSON.parse(codec.schema), { wrapUnions: 'never' });
  };
  return { asked, registry: { writerType } as Registry };
}

const value = (id: number, record: object) => types.get(id)?.encode(record, id, 64) ?? expect.fail('no type');

describe('a record reader', () => {
  it('needs no registry for what was written with its own schema', async () => {
    const { registry, asked } = registryWith();
    const read = createRecordReader(own, 1, registry);
    expect(await read(value(1, { a: 'x', b: 'y' }))).toEqual({ a: 'x', b: 'y' });
    expect(asked).toEqual([]);
  });

  it('reads what was written with another version, and asks once for it', async () => {
    const { registry, asked } = registryWith();
    const read = createRecordReader(own, 1, registry);
    expect(await read(value(2, { a: 'x', c: 'z' }))).toEqual({ a: 'x', b: null });
    await read(value(2, { a: 'x', c: null }));
    expect(asked).toEqual([2]);
  });

  it.each([
    ['no wire format', Buffer.from('{}')],
    ['nothing', Buffer.alloc(0)],
    ['an unknown schema', Buffer.from('00000000090000', 'hex')],
    ['a schema that can not be read into its own', value(3, { a: 1 })],
    ['bytes that end too soon', value(1, { a: 'long enough', b: null }).subarray(0, 8)],
  ])('refuses %s', async (_, bytes) => {
    const read = createRecordReader(own, 1, registryWith().registry);
    await expect(read(bytes)).rejects.toMatchObject({ code: 'RECORD_UNREADABLE' });
  });

  it('of an own topic reads by its own schema what has an id that leads nowhere, to its last byte', async () => {
    const { registry, asked } = registryWith();
    const read = createOwnReader(own, 1, registry);
    const withId = (id: number, bytes: Buffer) => {
      const copy = Buffer.from(bytes);
      copy.writeInt32BE(id, 1);
      return copy;
    };
    const written = value(1, { a: 'x', b: 'y' });
    // Unknown, twice; and of another record.
    for (const id of [9, 9, 3]) expect(await read(withId(id, written))).toEqual({ a: 'x', b: 'y' });
    expect(asked).toEqual([9, 3]);
    expect(await read(value(2, { a: 'x', c: 'z' }))).toEqual({ a: 'x', b: null });
    for (const bytes of [Buffer.concat([written, Buffer.alloc(1)]), written.subarray(0, -1)])
      await expect(read(withId(9, bytes))).rejects.toMatchObject({ code: 'RECORD_UNREADABLE' });
    const gone = registryWith(() => new HooklineError('REGISTRY_UNAVAILABLE')).registry;
    await expect(createOwnReader(own, 1, gone)(withId(9, written))).rejects.toMatchObject({
      code: 'REGISTRY_UNAVAILABLE',
    });
  });

  it('does not ask again at once for an id that is unknown', async () => {
    const { registry, asked } = registryWith();
    const read = createWriterReader(registry);
    const unknown = Buffer.from('00000000090000', 'hex');
    await expect(read(unknown)).rejects.toMatchObject({ code: 'RECORD_UNREADABLE' });
    await expect(read(unknown)).rejects.toMatchObject({ code: 'RECORD_UNREADABLE' });
    expect(asked).toEqual([9]);
  });

  it('lets the absence of the registry be told apart, and asks again', async () => {
    let isUnavailable = true;
    const { registry } = registryWith(() =>
      isUnavailable ? new HooklineError('REGISTRY_UNAVAILABLE') : undefined,
    );
    const read = createWriterReader(registry);
    await expect(read(value(2, { a: 'x', c: 'y' }))).rejects.toMatchObject({ code: 'REGISTRY_UNAVAILABLE' });
    isUnavailable = false;
    expect(await read(value(2, { a: 'x', c: 'y' }))).toEqual({ a: 'x', c: 'y' });
  });

  it('keeps no more of foreign schemas than their size allows, and asks anew for the oldest', async () => {
    const wide = (id: number) =>
      avro.Type.forSchema({
        type: 'record',
        name: `W${id}`,
        aliases: ['R'],
        fields: Array.from({ length: 5_000 }, (_, n) => ({
          name: `field_${id}_${n}_${'x'.repeat(100)}`,
          type: 'int',
        })),
      });
    const asked: number[] = [];
    const registry = {
      async writerType(id: number) {
        asked.push(id);
        return wide(id);
      },
    } as unknown as Registry;
    const read = createWriterReader(registry);
    const none = (id: number) => Buffer.concat([Buffer.from([0, 0, 0, 0, id]), Buffer.alloc(5_000)]);
    for (const id of [1, 2, 3, 4, 5, 6, 7, 7, 1]) await read(none(id));
    expect(asked).toEqual([1, 2, 3, 4, 5, 6, 7, 1]);
  });
});
