import avro from 'avsc';
import { expect, it } from 'vitest';
import { boundedDecoder, Undecodable } from '../../../src/avro/bounded-decode.ts';
import type { RecordReader } from '../../../src/avro/record-reader.ts';
import type { Mask } from '../../../src/cli/shell/mask.ts';
import { newsOf } from '../../../src/console/events/show-events.ts';
import { clip, fieldsText, showRecord } from '../../../src/console/events/show-record.ts';
import { HooklineError } from '../../../src/core/errors.ts';

const SHOWN: Mask = { value: (_, value) => value, entity: (_, entityId) => entityId };
const type = avro.Type.forSchema({
  type: 'record',
  name: 'E',
  fields: [
    { name: 'eventId', type: 'string' },
    { name: 'source', type: ['null', 'string'] },
    { name: 'amount', type: ['null', 'string'] },
  ],
});
const decode = boundedDecoder(type);
const read: RecordReader = async (value) => {
  try {
    return decode(value.subarray(5));
  } catch (cause) {
    if (!(cause instanceof Undecodable)) throw cause;
    throw new HooklineError('RECORD_UNREADABLE', undefined, { cause });
  }
};
const eventOf = (source: string) =>
  Buffer.concat([Buffer.alloc(5), type.toBuffer({ eventId: 'id-1', source, amount: '1.00' })]);
const record = (value: Buffer | null) => ({
  topic: 't',
  partition: 0,
  offset: 7n,
  key: Buffer.from('k'),
  value,
  headers: {},
  timestamp: 0,
});

it('shows typed fields apart from the message, which stays as it was received', async () => {
  const shown = await showRecord(record(eventOf('{"amount":1.10}')), read, SHOWN);
  expect(shown).toMatchObject({
    offset: 7,
    isWhole: true,
    source: '{"amount":1.10}',
    fields: { eventId: 'id-1', amount: '1.00' },
  });
});

it('shows a deletion, and what is no Avro', async () => {
  expect(await showRecord(record(null), read, SHOWN)).toMatchObject({ bytes: 0, fields: null, source: null });
  expect((await showRecord(record(Buffer.from('{"a":1}')), read, SHOWN)).fields).toEqual({ a: 1 });
  expect((await showRecord(record(Buffer.from([0xff])), read, SHOWN)).fields).toEqual({
    bytes: 1,
    base64: '/w==',
  });
});

it('lets the mask replace the message', async () => {
  const mask: Mask = {
    value: (_, value) => ({ ...(value as object), source: 'hidden' }),
    entity: () => 'hidden',
  };
  expect(await showRecord(record(eventOf('secret')), read, mask)).toMatchObject({
    key: 'hidden',
    source: 'hidden',
  });
});

it('bounds what is shown: a long text, deep fields', () => {
  expect(clip('a'.repeat(50), 10)).toBe('aaaaaaaaaa … 40 more characters');
  // Half of a character is not shown.
  expect(clip('\u{1f600}\u{1f600}', 1)).toBe('� … 3 more characters');
  expect(fieldsText({ a: { b: 1n } }, 100)).toBe('{\n  "a": {\n    "b": 1\n  }\n}');
  expect(fieldsText({ a: 'x'.repeat(1_000) }, 20).length).toBeLessThan(60);
});

it('says of a record whose schema could not be fetched why, and what to do', async () => {
  const unavailable: RecordReader = async () => {
    throw new HooklineError('REGISTRY_UNAVAILABLE', 'http://r', { remedy: 'correct SCHEMA_REGISTRY_URL' });
  };
  const shown = await showRecord(record(eventOf('{}')), unavailable, SHOWN);
  expect(shown.schemaFault).toMatch(/the schema registry does not answer.*correct SCHEMA_REGISTRY_URL$/);
  expect(String(newsOf([shown], 0))).toContain('correct SCHEMA_REGISTRY_URL');
  expect((await showRecord(record(Buffer.from([0])), read, SHOWN)).schemaFault).toBeNull();
});
