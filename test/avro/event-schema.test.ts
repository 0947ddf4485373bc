import { describe, expect, it } from 'vitest';
import { readEventSchema, readEventSchemas } from '../../src/avro/event-schema.ts';
import { readSchemaFiles } from '../../src/avro/schema-files.ts';
import type { TaggedType } from '../../src/avro/tagged-type.ts';
import { hasCode } from '../../src/core/errors.ts';
import { field, ownEventSchemas, schemaText } from '../support/event-schemas.ts';

const fileOf = (text: string, name = 'x.avsc') => ({ name, text });

/** The message of the refusal. */
function refusal(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    if (hasCode(error, 'SCHEMA_INVALID')) return error.message;
    throw error;
  }
  return expect.fail('was not refused');
}

describe('a schema file', () => {
  it.each([
    ['is no JSON', '{', /x\.avsc: .*JSON/],
    ['is no record', '{"type":"enum","name":"E","symbols":["A"]}', /x\.avsc: is no Avro record/],
    [
      'has no envelope',
      '{"type":"record","name":"R","topic":"t","eventTypes":["t"],"fields":[]}',
      /field eventId: every event begins/,
    ],
    [
      'has another envelope',
      schemaText().replace('"pointer":"/type"', '"pointer":"/kind"'),
      /field type: every event begins/,
    ],
    ['names no topic', schemaText([], { topic: undefined }), /field topic: must name the topic/],
    ['names a topic that can not be', schemaText([], { topic: 'a b' }), /field topic: must name the topic/],
    [
      "names one of Hookline's own",
      schemaText([], { topic: 'dead-letter' }),
      /field topic: "dead-letter" is one of/,
    ],
    ['lists no types', schemaText([], { eventTypes: 'x' }), /field eventTypes: must list/],
    [
      'has a field without a pointer',
      schemaText([{ name: 'a', type: ['null', 'string'], default: null }]),
      /field a: has no pointer/,
    ],
    [
      'has a pointer that is none',
      schemaText([field('a', 'string', 'payload/a')]),
      /field a: pointer "payload\/a" is no JSON pointer/,
    ],
    ['has a bad escape', schemaText([field('a', 'string', '/~2')]), /field a: pointer "\/~2"/],
    [
      'has a field that can not be null',
      schemaText([{ name: 'a', type: 'string', pointer: '/a' }]),
      /field a: .*\["null", T\]/,
    ],
    [
      'has a union of two',
      schemaText([{ name: 'a', type: ['null', 'string', 'int'], default: null, pointer: '/a' }]),
      /field a: /,
    ],
    [
      'has a type that cannot be mapped',
      schemaText([field('a', 'bytes')]),
      /field a: type "bytes".*use string/,
    ],
    [
      'has a logical type that can not be',
      schemaText([field('a', { type: 'int', logicalType: 'date' })]),
      /field a: type "date"/,
    ],
    [
      'is of version 0.1, whose source cannot be null',
      schemaText().replace(
        '"type":["null","string"],"default":null,"confluent:tags"',
        '"type":"string","confluent:tags"',
      ),
      /field source: every event begins with the envelope .*sourceRef.*\{"name":"source","type":\["null","string"\]\}/,
    ],
    [
      'has records in an array that can be null',
      schemaText([
        field('a', {
          type: 'array',
          items: ['null', { type: 'record', name: 'A', fields: [field('b', 'int', '/b')] }],
        }),
      ]),
      /field a\[\]: items of an array that are records cannot be null: write the record without the union/,
    ],
    [
      'has values in an array that cannot be null',
      schemaText([field('a', { type: 'array', items: 'string' })]),
      /field a\[\]: items of an array that are no records must be \["null", T\]/,
    ],
    [
      'has a misspelt policy',
      schemaText([], { source: 'omitted' }),
      /field source: must be one of keep, reference, omit/,
    ],
    [
      'omits the messages of types that nobody knows',
      schemaText([], { source: 'omit', eventTypes: [] }),
      /field source: cannot be omit where no type is claimed/,
    ],
    ["names the audit's topic", schemaText([], { topic: 'audit' }), /field topic: "audit" is one of/],
    [
      'has a pointerless field deep down',
      schemaText([
        field('a', { type: 'record', name: 'A', fields: [{ name: 'b', type: ['null', 'string'] }] }),
      ]),
      /field a\.b: has no pointer/,
    ],
    [
      'has a type inside itself',
      schemaText([field('a', { type: 'record', name: 'A', fields: [field('b', 'A', '/b')] })]),
      /field a\.b: type "test\.A" is unknown here, stands inside itself/,
    ],
    [
      'gives a name with a dot a namespace too, which readers take for different things',
      schemaText([
        field('a', { type: 'record', name: 'x.A', namespace: 'y', fields: [field('b', 'string', '/b')] }),
      ]),
      /x\.avsc: the name "x\.A" has a namespace: leave out the attribute namespace/,
    ],
    [
      'can not be compiled',
      schemaText([field('a', 'string'), field('a', 'string')]),
      /x\.avsc: .*duplicate/i,
    ],
  ])('that %s is refused, naming file and field', (_, text, message) => {
    expect(refusal(() => readEventSchema(fileOf(text)))).toMatch(message);
  });

  it('of each kind comes with Hookline', () => {
    const schemas = ownEventSchemas();
    expect(schemas.all.map(({ topic }) => topic).sort()).toEqual([
      'accounts-entries',
      'collection-status',
      'payment-status',
      'unclassified',
    ]);
    expect(schemas.claiming('payment_status')).toBe(schemas.claiming('payment-status'));
    expect(schemas.claiming('payment_status')?.topic).toBe('payment-status');
    expect(schemas.claiming('unheard-of')).toBeUndefined();
    expect(schemas.claiming(undefined)).toBeUndefined();
    expect(schemas.unclassified.topic).toBe('unclassified');
  });
});

describe('schema files together', () => {
  const unclassified = fileOf(schemaText([], { topic: 'unclassified', eventTypes: [] }), 'u.avsc');
  const one = fileOf(schemaText(), 'one.avsc');

  it.each([
    [
      'two claim one type',
      [unclassified, one, fileOf(schemaText([], { topic: 'two' }), 'two.avsc')],
      /two\.avsc: the type "example" is claimed by one\.avsc too/,
    ],
    [
      'two claim one topic',
      [unclassified, one, fileOf(schemaText([], { eventTypes: ['b'] }), 'two.avsc')],
      /two\.avsc: the topic "example" is claimed by one\.avsc too/,
    ],
    [
      'one claims a type twice',
      [unclassified, fileOf(schemaText([], { eventTypes: ['a', 'a'] }))],
      /the type "a" is claimed/,
    ],
    ['none takes what no other claims', [one], /exactly one schema has no eventTypes/],
    [
      'two take what no other claims',
      [unclassified, fileOf(schemaText([], { eventTypes: [] }), 'v.avsc')],
      /u\.avsc and v\.avsc: exactly one/,
    ],
  ])('are refused where %s', (_, files, message) => {
    expect(refusal(() => readEventSchemas(files))).toMatch(message);
  });

  it('may bring a new event type with typed fields: a file, no code', () => {
    const text = schemaText([field('amount', 'string')], {
      topic: 'refunds',
      eventTypes: ['refund', 'refund_made'],
    });
    const schemas = readEventSchemas([unclassified, fileOf(text, 'refunds.avsc')]);
    const { transcoder, codec } = schemas.claiming('refund_made') ?? expect.fail('no schema');
    const found = transcoder.find(Buffer.from('{"type":"refund","payload":{"amount":"1.10"}}'));
    const value = found.write({ eventId: 'e', subscription: 's', receivedAt: 1 }, 7, () => {});
    expect(codec.decode(value.subarray(5))).toMatchObject({ type: 'refund', amount: '1.10' });
  });
});

describe('the tags of a schema', () => {
  const iban = { ...field('iban', 'string', '/iban'), 'confluent:tags': ['PII'] };
  const party = { type: 'record', name: 'Party', fields: [iban] };
  const tagsOf = (...fields: object[]) =>
    tagsIn(readEventSchema(fileOf(schemaText(fields))).tagged).filter((line) => line !== 'source: PII');

  it('are found inside a type that is referred to by its name, short or full', () => {
    const list = { type: 'array', items: 'test.Party' };
    expect(tagsOf(field('debtor', party), field('creditor', 'Party'), field('others', list))).toEqual([
      'debtor.iban: PII',
      'creditor.iban: PII',
      'others[].iban: PII',
    ]);
  });

  it('are those of the type that the name stands for in its namespace', () => {
    const other = {
      type: 'record',
      name: 'Party',
      namespace: 'other',
      fields: [field('id', 'string', '/id')],
    };
    expect(
      tagsOf(field('a', party), field('b', other), field('c', 'Party'), field('d', 'other.Party')),
    ).toEqual(['a.iban: PII', 'c.iban: PII']);
  });

  it('are those of a type, of items and of a wrapped type too, wherever the type is used', () => {
    const tagged = { ...party, 'confluent:tags': ['PII'] };
    const text = { type: 'string', 'confluent:tags': ['NOTE'] };
    const fields = [
      field('debtor', tagged),
      { ...field('creditor', 'Party'), 'confluent:tags': ['BANK'] },
      field('others', { type: 'array', items: 'Party' }),
      field('notes', { type: 'array', items: ['null', text] }),
      field('note', text),
    ];
    expect(tagsOf(...fields)).toEqual([
      ...['debtor: PII', 'debtor.iban: PII', 'creditor: BANK,PII', 'creditor.iban: PII'],
      ...['others[]: PII', 'others[].iban: PII', 'notes[]: NOTE', 'note: NOTE'],
    ]);
  });

  it.each([
    ['a field', { ...iban, 'confluent:tags': 'PII' }, /field iban: confluent:tags must be a list of texts/],
    [
      'a type',
      field('debtor', { ...party, 'confluent:tags': [] }),
      /field debtor: confluent:tags must be a list of texts/,
    ],
  ])('are refused where those of %s are no list of texts', (_, wrong, fault) => {
    expect(() => tagsOf(wrong)).toThrow(fault);
  });
});

/** Each place with tags, as `path: tags`. */
const tagsIn = (type: TaggedType, path = ''): string[] =>
  type.flatMap((branch) => {
    const own = branch.tags.length > 0 ? [`${path}: ${branch.tags}`] : [];
    if (branch.kind === 'array') return [...own, ...tagsIn(branch.items, `${path}[]`)];
    if (branch.kind !== 'record') return own;
    const prefix = path === '' ? '' : `${path}.`;
    return [...own, ...[...branch.fields].flatMap(([name, inner]) => tagsIn(inner, prefix + name))];
  });

it('the schemas of Hookline refer to no type by name: datacontract-cli 1.2.8 cannot read one that does', () => {
  const primitives = /^(null|boolean|int|long|float|double|bytes|string|record|array)$/;
  const namesIn = (type: unknown): unknown[] => {
    if (typeof type === 'string') return primitives.test(type) ? [] : [type];
    if (Array.isArray(type)) return type.flatMap(namesIn);
    const { type: inner, items, fields = [] } = type as Record<string, unknown>;
    const all = [inner, items, ...(fields as { type: unknown }[]).map((one) => one.type)];
    return all.filter((one) => one !== undefined).flatMap(namesIn);
  };
  const files = (['events', 'commands'] as const).flatMap((kind) => readSchemaFiles(undefined, kind));
  expect(files.flatMap(({ text }) => namesIn(JSON.parse(text)))).toEqual([]);
});
