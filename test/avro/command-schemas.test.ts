import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { commandSchemasIn } from '../../src/avro/command-schemas.ts';

/** A copy of the schemas that come with Hookline. */
let dir: string;
const resultFile = () => join(dir, 'commands', 'command-result.avsc');

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'hookline-schemas-'));
  cpSync('schemas', dir, { recursive: true });
});

afterEach(() => rmSync(dir, { recursive: true }));

it('the schemas of commands, results and subscriptions come with Hookline', () => {
  const topics = Object.values(commandSchemasIn(undefined)).map(({ topic }) => topic);
  expect(topics).toEqual(['commands', 'command-results', 'subscriptions']);
});

it('a folder in which no file is for one of the topics is refused, and the topic is named', () => {
  rmSync(resultFile());
  expect(() => commandSchemasIn(dir)).toThrow('commands: no file names the topic "command-results"');
});

it.each([
  ['names no topic', { type: 'record', name: 'CommandResult', fields: [] }, 'names no topic'],
  ['is no Avro schema', { type: 'record', topic: 'command-results' }, 'non-array record fields'],
])('a file that %s is refused, and named', (_, schema, fault) => {
  writeFileSync(resultFile(), JSON.stringify(schema));
  expect(() => commandSchemasIn(dir)).toThrow(fault);
  expect(() => commandSchemasIn(dir)).toThrow('commands/command-result.avsc');
});
