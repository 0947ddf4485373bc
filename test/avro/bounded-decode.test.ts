import avro from 'avsc';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { boundedDecoder, Undecodable } from '../../src/avro/bounded-decode.ts';

const typeOf = (schema: unknown) =>
  avro.Type.forSchema(schema as avro.Schema, { wrapUnions: 'never', omitRecordMethods: true });
const record = (name: string, ...fields: object[]) => ({ type: 'record', name, fields });
const field = (name: string, type: unknown) => ({ name, type });
const long = (n: bigint | number) => {
  let zigzag = BigInt(n) < 0n ? -2n * BigInt(n) - 1n : 2n * BigInt(n);
  const bytes: number[] = [];
  for (; zigzag > 127n; zigzag >>= 7n) bytes.push(Number(zigzag & 127n) | 128);
  return Buffer.from([...bytes, Number(zigzag)]);
};
const bytes = (...parts: (Buffer | number)[]) =>
  Buffer.concat(parts.map((part) => (typeof part === 'number' ? long(part) : part)));

const READER = typeOf(record('R', field('id', 'string')));
const ID = bytes(1, Buffer.from('x'));

/** What a foreign writer's field holds that the reader does not have: it is skipped. */
const skipping = (type: unknown) =>
  boundedDecoder(typeOf(record('R', field('id', 'string'), field('foreign', type))), READER);

const HUGE = 2 ** 30;

describe('a bounded decoder', () => {
  it('reads what its own schema and another one wrote', () => {
    const own = typeOf(record('R', field('id', 'string'), field('n', { type: 'array', items: 'int' })));
    const value = own.toBuffer({ id: 'x', n: [1, 2, 3] });
    expect(boundedDecoder(own)(value)).toEqual({ id: 'x', n: [1, 2, 3] });
    expect(boundedDecoder(own, READER)(value)).toEqual({ id: 'x' });
  });

  it('looks at a schema once, and not again for each field of each record that is cut off', () => {
    const writer = typeOf(
      record(
        'R',
        field('id', 'string'),
        field('a', ['null', record('Big', field('n', 'int'))]),
        field('b', ['null', 'Big']),
      ),
    );
    const decode = boundedDecoder(writer);
    // What is compiled is noted in a map, type by type.
    const notes = vi.spyOn(Map.prototype, 'set');
    onTestFinished(() => notes.mockRestore());
    expect(() => decode(bytes(ID, 0, 0, 7))).toThrow('there are bytes behind the value');
    expect(notes).not.toHaveBeenCalled();
  });

  it('refuses the fourteen bytes that ended control: a count of 2^30 items without items', () => {
    const own = typeOf(
      record('R', field('id', 'string'), field('events', { type: 'array', items: 'string' })),
    );
    expect(() => boundedDecoder(own)(bytes(ID, HUGE))).toThrow(
      `${HUGE} items are announced, 0 bytes are there`,
    );
    expect(() => boundedDecoder(own)(bytes(ID, -HUGE, 10))).toThrow('items are announced');
    expect(() => boundedDecoder(own)(bytes(ID, long(2n ** 62n)))).toThrow('items are announced');
  });

  it.each([
    ['an array of strings', { type: 'array', items: 'string' }, bytes(HUGE)],
    ['an array of nulls', { type: 'array', items: 'null' }, bytes(HUGE, 0)],
    ['blocks of nulls', { type: 'array', items: 'null' }, bytes(...Array(50).fill(1_000), 0)],
    ['an array of empty records', { type: 'array', items: record('E') }, bytes(HUGE, 0)],
    [
      'an array of records of nothing',
      { type: 'array', items: record('E', field('a', 'null'), field('b', record('F'))) },
      bytes(HUGE, 0),
    ],
    ['an array of fixed 0', { type: 'array', items: { type: 'fixed', name: 'F', size: 0 } }, bytes(HUGE, 0)],
    ['a map', { type: 'map', values: 'null' }, bytes(HUGE)],
    [
      'arrays of arrays of nulls',
      { type: 'array', items: { type: 'array', items: 'null' } },
      bytes(100, ...Array(100).fill(bytes(900, 0)), 0),
    ],
    ['a block whose size leads back to its beginning', { type: 'array', items: 'int' }, bytes(-1, -4, 7, 0)],
    ['a block whose size leads behind the end', { type: 'array', items: 'int' }, bytes(-1, HUGE, 7, 0)],
    ['a block that is shorter than its items', { type: 'array', items: 'int' }, bytes(-2, 1, 7, 7, 0)],
    ['a string behind the end', 'string', bytes(HUGE)],
    ['a string of less than nothing', 'string', bytes(-3)],
    ['bytes behind the end', 'bytes', bytes(HUGE)],
    ['a fixed behind the end', { type: 'fixed', name: 'F', size: HUGE }, Buffer.alloc(4)],
    ['a union without that branch', ['null', 'int'], bytes(7)],
    ['a branch below the first', ['null', 'int'], bytes(-1)],
    ['an enum without that symbol', { type: 'enum', name: 'E', symbols: ['A'] }, bytes(3)],
    ['a number without an end', 'long', Buffer.alloc(40, 0xff)],
    ['an int of 33 bits', 'int', bytes(2 ** 32)],
    ['a number that is cut off', 'long', Buffer.from([0x80])],
    ['a record of itself', record('E', field('e', 'E')), Buffer.alloc(0)],
    [
      'a list of ten thousand links',
      record('E', field('e', ['null', 'E'])),
      bytes(...Array(10_000).fill(1), 0),
    ],
    ['a byte too many', 'int', bytes(1, 1)],
  ])('refuses %s in a field that is skipped', (_, type, tail) => {
    let error: unknown;
    try {
      skipping(type)(bytes(ID, tail));
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(Undecodable);
    expect((error as Undecodable).leading).toMatchObject({ id: 'x' });
  });

  it('names the field at which the record cannot be read, not one before it that is skipped', () => {
    const names = ['nanoseconds', 'id', 'count'];
    const writer = typeOf(
      record('R', ...names.map((name) => field(name, name === 'id' ? 'string' : 'long'))),
    );
    const reader = typeOf(record('R', field('id', 'string'), field('count', 'long')));
    const decode = boundedDecoder(writer, reader);
    const nanoseconds = long(2n ** 60n);
    expect(decode(bytes(nanoseconds, ID, 7))).toEqual({ id: 'x', count: 7 });
    expect(() => decode(bytes(nanoseconds, ID, long(2n ** 60n)))).toThrow(
      expect.objectContaining({ message: 'count: a number beyond 2^53 - 1', leading: { id: 'x' } }),
    );
  });

  it('does not do the work of a schema that doubles at each level', () => {
    const level = (n: number): object | string =>
      n === 0
        ? 'null'
        : record(`L${n}`, field('a', level(n - 1)), field('b', n === 1 ? 'null' : `L${n - 1}`));
    expect(() => skipping(level(40))(ID)).toThrow('values without a byte');
  });

  it('takes lists of null that have a byte each, and some that have none', () => {
    const nullable = typeOf(
      record('R', field('id', 'string'), field('n', { type: 'array', items: ['null', 'int'] })),
    );
    const many = { id: 'x', n: Array(5_000).fill(null) };
    expect(boundedDecoder(nullable)(nullable.toBuffer(many))).toEqual(many);
    expect(skipping({ type: 'array', items: 'null' })(bytes(ID, 900, 0))).toEqual({ id: 'x' });
  });

  it('takes no more values than it is told', () => {
    const own = typeOf(record('R', field('n', { type: 'array', items: 'int' })));
    const decode = boundedDecoder(own, own, { maxValues: 100 });
    expect(decode(own.toBuffer({ n: Array(99).fill(1) }))).toMatchObject({ n: Array(99).fill(1) });
    expect(() => decode(own.toBuffer({ n: Array(100).fill(1) }))).toThrow('too many values');
  });

  it('reads blocks with and without their size as avsc writes and as others do', () => {
    const own = typeOf(
      record('R', field('n', { type: 'array', items: 'int' }), field('m', { type: 'map', values: 'string' })),
    );
    const plain = bytes(2, 5, 6, 1, 7, 0, 1, 1, Buffer.from('k'), 1, Buffer.from('v'), 0);
    const sized = bytes(-3, 3, 5, 6, 7, 0, -1, 4, 1, Buffer.from('k'), 1, Buffer.from('v'), 0);
    for (const binary of [plain, sized])
      expect(boundedDecoder(own)(binary)).toEqual({ n: [5, 6, 7], m: { k: 'v' } });
  });

  it('reads whatever avsc itself writes of any schema', () => {
    const leaf = fc.constantFrom('null', 'boolean', 'int', 'long', 'float', 'double', 'string', 'bytes');
    const { schema } = fc.letrec<{ schema: unknown }>((tie) => ({
      schema: fc.oneof(
        { maxDepth: 3 },
        leaf,
        tie('schema').map((items) => ({ type: 'array', items })),
        tie('schema').map((values) => ({ type: 'map', values })),
        fc
          .tuple(tie('schema'), tie('schema'))
          .map(([a, b]) => ({ type: 'record', fields: [field('a', a), field('b', b)] })),
        leaf.filter((name) => name !== 'null').map((name) => ['null', name]),
      ),
    }));
    fc.assert(
      fc.property(schema, (inner) => {
        const type = typeOf({ type: 'record', fields: [field('x', inner)] });
        const value = type.random();
        const binary = type.toBuffer(value);
        expect(type.toBuffer(boundedDecoder(type)(binary)).equals(binary)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });
});
