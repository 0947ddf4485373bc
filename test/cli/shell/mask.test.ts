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
  writeFileSync(join(dir, 'events/rest.avsc'), schemaText([], { topic: 'unclassified', eventTypes: [] }));
});
afterAll(() => rmSync(dir, { recursive: true }));

const maskOf = (reveal: boolean) => createMask({ schemas: { dir }, topics: { prefix: 'pay' } }, reveal);
const event = { eventId: 'e', source: '{"a":1}', iban: 'DE02', parties: [{ name: 'A' }, { name: null }] };

describe('a record that is shown', () => {
  it('hides fields that its schema tags, at any depth, and no others', () => {
    expect(maskOf(false)('pay.example', event)).toEqual({
      eventId: 'e',
      source: 'hidden (PII, 7 bytes): --reveal shows it',
      iban: 'hidden (IBAN, PII, 4 bytes): --reveal shows it',
      parties: [{ name: 'hidden (PII, 1 bytes): --reveal shows it' }, { name: null }],
    });
  });

  it('shows everything with --reveal', () => {
    expect(maskOf(true)('pay.example', event)).toBe(event);
  });

  it('hides the message of a type that no schema has any more, and bodies of dead-letter records', () => {
    expect(maskOf(false)('pay.removed', event)).toMatchObject({
      source: expect.stringMatching(/^hidden/),
      iban: 'DE02',
    });
    expect(maskOf(false)('pay.dead-letter', { iban: 'DE02' })).toMatch(/^hidden \(a body\)/);
    expect(maskOf(false)('pay.dead-letter', null)).toBeNull();
  });

  it('is shown as it is where it is no record', () => {
    expect(maskOf(false)('pay.example', 'text')).toBe('text');
    expect(maskOf(false)('pay.example', null)).toBeNull();
  });
});
