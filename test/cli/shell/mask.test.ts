import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createMask } from '../../../src/cli/shell/mask.ts';
import { field, schemaText } from '../../support/event-schemas.ts';

let dir: string;

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'hookline-mask-'));
  mkdirSync(join(dir, 'events'));
  const party = {
    type: 'record',
    name: 'Party',
    fields: [{ ...field('name', 'string', '/name'), 'confluent:tags': ['PII'] }],
  };
  const fields = [
    field('parties', { type: 'array', items: party }),
    { ...field('iban', 'string'), 'confluent:tags': ['IBAN', 'PII'] },
  ];
  writeFileSync(join(dir, 'events/example.avsc'), schemaText(fields));
  const typed = [
    field('debtor', {
      type: 'record',
      name: 'Debtor',
      'confluent:tags': ['PII'],
      fields: [field('city', 'string', '/city')],
    }),
    field('notes', { type: 'array', items: ['null', { type: 'string', 'confluent:tags': ['NOTE'] }] }),
  ];
  const attributes = { topic: 'typed', eventTypes: ['typed'] };
  writeFileSync(join(dir, 'events/typed.avsc'), schemaText(typed, attributes));
  writeFileSync(join(dir, 'events/rest.avsc'), schemaText([], { topic: 'unclassified', eventTypes: [] }));
});
afterAll(() => rmSync(dir, { recursive: true }));

const maskOf = (reveal: boolean) =>
  createMask(
    {
      schemas: { dir },
      topics: { prefix: 'pay' },
      commands: { topics: [{ name: 'pay.commands.ledger', refs: ['*'] }] },
    },
    reveal,
  );
const event = { eventId: 'e', source: '{"a":1}', iban: 'DE02', parties: [{ name: 'A' }, { name: null }] };

describe('a record that is shown', () => {
  it('hides fields that its schema tags, at any depth, and no others', () => {
    expect(maskOf(false).value('pay.example', event, true)).toEqual({
      eventId: 'e',
      source: 'hidden (PII, 7 bytes): --reveal shows it',
      iban: 'hidden (IBAN, PII, 4 bytes): --reveal shows it',
      parties: [{ name: 'hidden (PII, 1 bytes): --reveal shows it' }, { name: null }],
    });
  });

  it('hides fields that the schema file does not have, at any depth: an older or newer writer had them', () => {
    const { value } = maskOf(false);
    const masked = value(
      'pay.example',
      { ...event, debtor: 'A B', old: null, party: { name: 'A' }, parties: [{ name: null, city: 'Bonn' }] },
      true,
    );
    expect(masked).toMatchObject({
      eventId: 'e',
      debtor: 'hidden (not in the schema file, 3 bytes): --reveal shows it',
      old: null,
      party: 'hidden (not in the schema file): --reveal shows it',
      parties: [{ name: null, city: 'hidden (not in the schema file, 4 bytes): --reveal shows it' }],
    });
    // What is of another form than the file says was written as another field.
    const other = { eventId: { id: 'A' }, parties: 'A B', sourceRef: [] };
    for (const hidden of Object.values(value('pay.example', other, true) as object))
      expect(hidden).toMatch(/^hidden \(not in the schema file/);
    expect(value('pay.example', 'A B', true)).toMatch(/^hidden \(not in the schema file, 3 bytes\)/);
  });

  it('hides each value of a type that the schema tags', () => {
    const masked = maskOf(false).value('pay.typed', { debtor: { city: 'Bonn' }, notes: ['a', null] }, true);
    expect(masked).toEqual({
      debtor: 'hidden (PII): --reveal shows it',
      notes: ['hidden (NOTE, 1 bytes): --reveal shows it', null],
    });
  });

  it('shows everything with --reveal', () => {
    expect(maskOf(true).value('pay.example', event, true)).toBe(event);
    expect(maskOf(true).value('pay.example', { old: 'A' }, true)).toEqual({ old: 'A' });
  });

  it('hides all but the envelope of a type that no schema file has any more, and bodies of dead-letter records', () => {
    expect(maskOf(false).value('pay.removed', { ...event, entityId: 'E-1', debtor: null }, true)).toEqual({
      eventId: 'e',
      entityId: 'hidden (not in the schema file, 3 bytes): --reveal shows it',
      source: 'hidden (a message, 7 bytes): --reveal shows it',
      iban: 'hidden (not in the schema file, 4 bytes): --reveal shows it',
      parties: 'hidden (not in the schema file): --reveal shows it',
      debtor: null,
    });
    expect(maskOf(false).value('pay.commands', { source: 'A', ref: 'eu' }, true)).toMatchObject({
      ref: 'eu',
    });
    expect(maskOf(false).value('pay.dead-letter', { iban: 'DE02' }, false)).toMatch(/^hidden \(a body\)/);
    expect(maskOf(false).value('pay.dead-letter', null, true)).toBeNull();
  });

  it('is hidden as a whole where it cannot be decoded, but for commands, results and the state', () => {
    const { value } = maskOf(false);
    const texts = ['text', { base64: 'REUwMg==' }, [{ source: 'a' }], { source: 'a', iban: 'DE02' }];
    for (const text of texts)
      expect(value('pay.example', text, false)).toMatch(/^hidden \(it cannot be decoded/);
    for (const text of [...texts.slice(0, 3), { beginning: 'IBAN DE02' }])
      expect(value('pay.removed', text, false)).toMatch(/^hidden/);
    expect(value('pay.commands.ledger', { commandId: 'c' }, false)).toEqual({ commandId: 'c' });
    expect(value('pay.commands', '{"commandId":', false)).toBe('{"commandId":');
    expect(value('pay.example', null, true)).toBeNull();
    expect(maskOf(true).value('pay.example', 'text', false)).toBe('text');
  });

  it('names the entity in key and headers only where it is not tagged', () => {
    expect(maskOf(false).entity('pay.example', 'E-1')).toBe('E-1');
    // Its file may have tagged it.
    expect(maskOf(false).entity('pay.removed', 'E-1')).toMatch(/^hidden \(not in the schema file/);
    writeFileSync(join(dir, 'events/example.avsc'), withTaggedEntity(schemaText([])));
    expect(maskOf(false).entity('pay.example', 'E-1')).toMatch(/^hidden \(PII, 3 bytes\)/);
    expect(maskOf(false).entity('pay.dead-letter', 'E-1')).toMatch(/^hidden/);
    for (const topic of ['pay.subscriptions', 'pay.commands.ledger'])
      expect(maskOf(false).entity(topic, 'eu')).toBe('eu');
    expect(maskOf(true).entity('pay.example', 'E-1')).toBe('E-1');
  });
});

function withTaggedEntity(text: string): string {
  const schema = JSON.parse(text) as { fields: { name: string }[] };
  const fields = schema.fields.map((one) =>
    one.name === 'entityId' ? { ...one, 'confluent:tags': ['PII'] } : one,
  );
  return JSON.stringify({ ...schema, fields });
}

it('does not promise that --reveal shows a record whose schema could not be fetched', () => {
  const undecoded = { bytes: 9, base64: 'AAAAAAc=' };
  const { value } = maskOf(false);
  expect(value('pay.example', undecoded, false, 'the schema registry does not answer')).toBe(
    'hidden (its schema could not be fetched)',
  );
  expect(value('pay.example', undecoded, false)).toBe('hidden (it cannot be decoded): --reveal shows it');
});
