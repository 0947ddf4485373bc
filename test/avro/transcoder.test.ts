import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type EventSchema, readEventSchema } from '../../src/avro/event-schema.ts';
import type { FoundMessage } from '../../src/avro/transcoder.ts';
import { NotJson } from '../../src/core/json-scanner.ts';
import { field, ownEventSchemas, schemaText } from '../support/event-schemas.ts';
import { listDrift, mappingOf } from '../support/map-objects.ts';
import { jsonText } from './transcode/json-text.ts';

const ENVELOPE = { eventId: 'e', subscription: 'team-a', receivedAt: 1795168800000 };

/** By way of objects, and avsc. */
function byObjects({ codec }: EventSchema, source: string) {
  const drift: string[] = [];
  const message: unknown = JSON.parse(source);
  const record = Object.assign(mappingOf(codec.schema)(message, listDrift(drift)), ENVELOPE, {
    source,
    sourceRef: null,
  });
  return { value: codec.encode(record, 7, 16).toString('hex'), drift: drift.sort() };
}

function byBytes({ transcoder }: EventSchema, source: string) {
  const drift: string[] = [];
  const value = transcoder.find(Buffer.from(source)).write(ENVELOPE, 7, listDrift(drift));
  return { value: value.toString('hex'), drift: drift.sort() };
}

const record = (name: string, ...fields: object[]) => ({ type: 'record', name, fields });
const array = (items: unknown) => ({ type: 'array', items: ['null', items] });
const records = (items: unknown) => ({ type: 'array', items });
const timestamp = { type: 'long', logicalType: 'timestamp-millis' };

/** Every shape that can be mapped, pointers that share a way, cross an array, or lead to the whole. */
const everyShape = readEventSchema({
  name: 'every-shape.avsc',
  text: schemaText([
    ...['string', 'boolean', 'int', 'long', 'float', 'double'].map((type) =>
      field(`${type}Field`, type, '/a'),
    ),
    field('at', timestamp, '/a'),
    field('ab', 'string', '/a/b'),
    field('first', 'string', '/b/0'),
    field('texts', array('string'), '/b'),
    field('whole', record('Whole', field('a', 'string', '/a'), field('itself', 'int', '')), ''),
    field(
      'list',
      records(
        record(
          'Item',
          field('status', 'string', '/status'),
          field('inner', record('Inner', field('b', 'long', '/b'), field('n', array('int'), '/list')), '/a'),
        ),
      ),
      '/list',
    ),
    field('lists', array(array('double')), '/status'),
    field('tilde', 'string', '/~0~1'),
    field('empty', 'string', '/'),
    field('emptyIn', 'string', '/payload/'),
  ]),
});
const NAMES = ['a', 'b', 'list', 'status', 'type', 'entityId', 'payload', '~/', '0', '__proto__', ''];
const PACS = [
  'type',
  'entityId',
  'payload',
  'pacs002',
  'FIToFIPmtStsRpt',
  'GrpHdr',
  'TxInfAndSts',
  'InstgAgt',
];

describe('the transcoder', () => {
  it('writes byte for byte what avsc writes of a message by way of objects, and tells the same drift', () => {
    const schemas = [everyShape, ...ownEventSchemas().all];
    const seen = { drift: 0, filled: 0 };
    fc.assert(
      fc.property(
        fc.oneof(jsonText(NAMES), jsonText([...PACS, 'FinInstnId', 'BICFI', 'MsgId'])),
        fc.constantFrom(everyShape, ...schemas),
        (source, schema) => {
          const expected = byObjects(schema, source);
          expect(byBytes(schema, source)).toEqual(expected);
          if (expected.drift.length > 0) seen.drift++;
          if (/"(list|pacs002)"\s*:\s*[[{]/.test(source)) seen.filled++;
        },
      ),
      { numRuns: 1_000 },
    );
    expect(Math.min(seen.drift, seen.filled)).toBeGreaterThan(100);
  });

  it.each([
    [
      '{"list":[{"status":"x","a":{"b":5,"list":[1,2,"3",null]}},7,null,{}],"b":["t",1],"status":[[1.5,2],[],3]}',
    ],
    ['{"a":{"b":"first"},"a":"second","b":["x"],"b":{"0":"y"}}'],
    ['{"list":[{"status":5},{"status":"x"}],"list":[{"status":"y"}]}'],
    ['{"list":[{"status":5}],"list":{}}'],
    ['{"b":["x"],"b":[]}'],
    ['{"\\u0061":"escaped name","b":["\\ud800","\\u00e9"]}'],
    ['{"a":1795168800000.5}'],
    ['{"a":-4503599627370496}'],
    ['{"a":true}'],
    [`{"a":"${'x'.repeat(100)}\\n"}`],
    ['{"a":"2026-11-20T10:00:00Z","~/":"tilde"}'],
    ['{"":"empty","payload":{"a":"A","":"in"}}'],
    ['{"payload":{"":"in","a":"A"},"a":"","":"empty"}'],
    ['  [ ]  '],
    ['"text"'],
    ['null'],
  ])('does so for %s', (source) => {
    expect(byBytes(everyShape, source)).toEqual(byObjects(everyShape, source));
  });

  it('does so for a record larger than was thought: with many nulls for a few signs', () => {
    const fields = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map((name) => field(name, 'int', `/${name}`));
    const text = schemaText([field('list', records(record('Wide', ...fields)), '/list')]);
    const schema = readEventSchema({ name: 'wide.avsc', text });
    const source = `{"list":[${'{},'.repeat(5_000)}{}]}`;
    const expected = byObjects(schema, source);
    expect(expected.value.length / 2).toBeGreaterThan(2.5 * source.length);
    expect(byBytes(schema, source)).toEqual(expected);
  });

  it.each([
    ['is no JSON after all', '}]', () => {}],
    ['is not written', '}', (found: FoundMessage) => found.drop()],
    [
      'is written',
      '}',
      (found: FoundMessage) => {
        const written = found.write(ENVELOPE, 7, () => {});
        found.drop();
        return written;
      },
    ],
  ])('keeps nothing of a long list that %s', (_, end, then) => {
    const message = Buffer.from(`{"list":[${'{"status":"0123456789"},'.repeat(400_000)}{}]${end}`);
    const held = () => process.memoryUsage().arrayBuffers;
    const before = held();
    let record: Buffer | undefined;
    try {
      record = then(everyShape.transcoder.find(message)) ?? undefined;
    } catch (error) {
      expect(error).toBeInstanceOf(NotJson);
    }
    expect(held() - before - (record?.buffer.byteLength ?? 0)).toBeLessThan(1_000_000);
  });

  it.each([
    ['{"type":"payment-status","entityId":"é\\n"}', 'payment-status', 'é\n'],
    ['{"type":"a","type":"b"}', 'b', null],
    ['{"type":5,"entityId":null}', null, null],
    ['{"entityId":"\\ud800"}', null, null],
    ['[]', null, null],
  ])('tells type and entity of %s', (source, type, entityId) => {
    expect(everyShape.transcoder.find(Buffer.from(source))).toMatchObject({ type, entityId });
  });

  it.each(['', '{xa":1}', '{"list":[}', '{"a":1}x', '{"list":[{"a":1}{}]}', '{"a":{"b":tru}}'])(
    'refuses %j',
    (source) => {
      expect(() => everyShape.transcoder.find(Buffer.from(source))).toThrow(NotJson);
    },
  );
});
