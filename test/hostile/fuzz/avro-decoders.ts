import avro, { type Type } from 'avsc';
import fc from 'fast-check';
import { boundedDecoder, Undecodable } from '../../../src/avro/bounded-decode.ts';
import { commandSchemasIn } from '../../../src/avro/command-schemas.ts';
import { schemaIdOf, writerTypeOf } from '../../../src/avro/record-codec.ts';
import { createRecordReader } from '../../../src/avro/record-reader.ts';
import { readCommand } from '../../../src/control/read-command.ts';
import { HooklineError, hasCode } from '../../../src/core/errors.ts';
import { ownEventSchemas } from '../../support/event-schemas.ts';
import { changed, changes, fuzzed, must, outcome } from './fuzzed.ts';

const typeOf = (schema: unknown) =>
  avro.Type.forSchema(schema as avro.Schema, { wrapUnions: 'never', omitRecordMethods: true });
const field = (name: string, type: unknown) => ({ name, type });

const command = commandSchemasIn(undefined);
const own = [command.command, command.result, command.subscription].map(({ codec }) => codec);
const events = ownEventSchemas().all.map(({ codec }) => codec);
const codecs = [...own, ...events].map((codec) => ({ codec, type: typeOf(JSON.parse(codec.schema)) }));

/** Bytes of any value of the type. */
const binaryOf = (type: Type) => anyOf(type).map((value) => type.toBuffer(value));

function anyOf(type: Type): fc.Arbitrary<unknown> {
  if (type.typeName.startsWith('union:')) {
    return fc.oneof(...(type as avro.types.UnwrappedUnionType).types.map(anyOf));
  }
  switch (type.typeName) {
    case 'null':
      return fc.constant(null);
    case 'boolean':
      return fc.boolean();
    case 'int':
      return fc.integer();
    case 'long':
      // avsc takes no number that it might not read again.
      return fc.integer({ min: -(2 ** 52), max: 2 ** 52 });
    case 'float':
    case 'double':
      return fc.integer().map((n) => n / 8);
    case 'string':
      return fc.string({ unit: 'grapheme', maxLength: 20 });
    case 'bytes':
      return fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes));
    case 'fixed': {
      const { size } = type as avro.types.FixedType;
      return fc.uint8Array({ minLength: size, maxLength: size }).map((bytes) => Buffer.from(bytes));
    }
    case 'enum':
      return fc.constantFrom(...(type as avro.types.EnumType).symbols);
    case 'array':
      return fc.array(anyOf((type as avro.types.ArrayType).itemsType), { maxLength: 4 });
    case 'map':
      return fc.dictionary(fc.string({ maxLength: 4 }), anyOf((type as avro.types.MapType).valuesType), {
        maxKeys: 4,
        noNullPrototype: true,
      });
    default: {
      const { fields } = type as avro.types.RecordType;
      return fc.record(Object.fromEntries(fields.map((one) => [one.name, anyOf(one.type)])), {
        noNullPrototype: true,
      });
    }
  }
}

/** Values, also those without a byte, in proportion to the bytes that are there. */
function sizeOf(value: unknown): number {
  if (typeof value === 'string' || Buffer.isBuffer(value)) return 1 + value.length;
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce((sum: number, inner) => sum + sizeOf(inner), 1);
}

const leaf = fc.constantFrom('null', 'boolean', 'int', 'long', 'float', 'double', 'string', 'bytes');
const { schema: anySchema } = fc.letrec<{ schema: unknown }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 3 },
    leaf,
    fc.nat({ max: 20 }).map((size) => ({ type: 'fixed', size })),
    fc.constant({ type: 'enum', symbols: ['A', 'B', 'C'] }),
    fc.constant({ type: 'record', fields: [] }),
    tie('schema').map((items) => ({ type: 'array', items })),
    tie('schema').map((values) => ({ type: 'map', values })),
    fc
      .tuple(tie('schema'), tie('schema'))
      .map(([a, b]) => ({ type: 'record', fields: [field('a', a), field('b', b)] })),
    leaf.filter((name) => name !== 'null').map((name) => ['null', name]),
  ),
}));

const READER = typeOf({ type: 'record', name: 'R', fields: [field('id', 'string')] });
const foreign = fc.tuple(anySchema, fc.boolean()).chain(([inner, isFirst]) => {
  const id = field('id', 'string');
  const fields = isFirst ? [id, field('x', inner)] : [field('x', inner), id];
  const type = typeOf({ type: 'record', name: 'R', fields });
  return fc.record({ type: fc.constant(type), binary: binaryOf(type), changes });
});

const commandValue = fc.record({
  commandId: fc.oneof(fc.uuid(), fc.string()),
  type: fc.oneof(
    fc.constantFrom('subscription.create', 'subscription.delete', 'webhook.replay'),
    fc.string(),
  ),
  ref: fc.option(fc.oneof(fc.constant('team-a'), fc.string())),
  events: fc.option(fc.array(fc.constantFrom('payment_status', 'accounts-entries', ''), { maxLength: 4 })),
  executionIds: fc.option(fc.array(fc.string(), { maxLength: 4 })),
  extra: fc.option(fc.json()),
  issuedBy: fc.option(fc.string()),
  issuedAt: fc.option(fc.integer()),
  expiresAt: fc.option(fc.integer()),
  dryRun: fc.boolean(),
  ifMatch: fc.option(fc.string()),
});
const OWN = 7;
const readAvro = createRecordReader(command.command.codec, OWN, {
  writerType: () => Promise.reject(new HooklineError('SCHEMA_NOT_REGISTERED')),
} as never);
const readValue = (value: Buffer) =>
  readCommand(
    { topic: 't', partition: 0, offset: 0n, key: null, headers: {}, timestamp: 0, value },
    readAvro,
  );

function mustBeRead(read: Awaited<ReturnType<typeof readValue>>, value: Buffer): void {
  if (!read.ok) must(read.reason.code === 'COMMAND_INVALID', `refused with ${read.reason.code}`);
  else must(sizeOf(read.command) < 50 * (value.length + 100), 'a command larger than its bytes');
}

const ownSchemaTexts = [...own, ...events].map(({ schema }) => schema);

export const avroDecoders = [
  fuzzed(
    'Avro records, own schemas',
    3,
    fc
      .constantFrom(...codecs)
      .chain((one) => fc.record({ one: fc.constant(one), binary: binaryOf(one.type), changes })),
    async ({ one: { codec, type }, binary, changes: by }) => {
      const input = changed(binary, by);
      const end = await outcome(
        () => codec.decode(input ?? binary),
        (error) => error instanceof Undecodable,
      );
      if (input === null && 'error' in end) {
        // avsc makes up numbers that it does not read; nothing else of what it wrote is refused.
        must(/precision/.test(String(end.error)), `refused what was written: ${end.error}`);
      }
      if ('error' in end) return;
      must(
        type.toBuffer(end.value).equals(type.toBuffer(type.fromBuffer(input ?? binary))),
        'read otherwise than avsc reads it',
      );
      must(sizeOf(end.value) <= 70 * ((input ?? binary).length + 1_000), 'more than its bytes');
    },
  ),
  fuzzed('Avro records, foreign schemas', 3, foreign, async ({ type, binary, changes: by }) => {
    const input = changed(binary, by);
    const decode = boundedDecoder(type, READER);
    const end = await outcome(
      () => decode(input ?? binary),
      (error) => error instanceof Undecodable,
    );
    if ('error' in end) {
      must(
        input !== null || /precision|without a byte/.test(String(end.error)),
        `refused what was written: ${end.error}`,
      );
      return;
    }
    // What is skipped may be a number that avsc would not read.
    const judge = await outcome(
      () => type.fromBuffer(input ?? binary),
      (error) => /precision/.test(String(error)),
    );
    if ('value' in judge) must(end.value.id === judge.value.id, 'read otherwise than by the writer');
  }),
  fuzzed(
    "writers' schemas from the registry",
    1,
    fc.record({ text: fc.constantFrom(...ownSchemaTexts), changes }),
    async ({ text, changes: by }) => {
      const input = changed(Buffer.from(text), by)?.toString() ?? text;
      const end = await outcome(
        () => writerTypeOf({ schema: input }, () => Promise.reject(new Error('a reference'))),
        (error) => hasCode(error, 'SCHEMA_INVALID'),
      );
      if (input === text) must('value' in end, 'refused an own schema');
    },
  ),
  fuzzed(
    'commands in Avro',
    3,
    fc.record({ value: commandValue, changes }),
    async ({ value, changes: by }) => {
      const whole = command.command.codec.encode(value, OWN, 256);
      const input = Buffer.concat([
        whole.subarray(0, 5),
        changed(whole.subarray(5), by) ?? whole.subarray(5),
      ]);
      mustBeRead(await readValue(input), input);
    },
  ),
  fuzzed(
    'commands in JSON',
    3,
    fc.record({ value: commandValue, changes }),
    async ({ value, changes: by }) => {
      const whole = Buffer.from(JSON.stringify(value));
      const input = changed(whole, by) ?? whole;
      const read = await readValue(input);
      mustBeRead(read, input);
      if (!read.ok) return;
      must(
        JSON.parse(input.toString()).commandId === read.command.commandId,
        'another id than JSON.parse reads',
      );
    },
  ),
  fuzzed('the wire format', 1, fc.uint8Array({ maxLength: 12 }), (bytes) => {
    const value = Buffer.from(bytes);
    const id = schemaIdOf(value);
    must((id === null) === (value.length <= 5 || value[0] !== 0), 'an id where there is none');
  }),
];
