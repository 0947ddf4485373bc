import { describe, expect, it } from 'vitest';
import { TABLES, withTables } from './tables.ts';

/** The rows of a table by their first cell, without the marks of code. */
function rowsOf(table: string): Map<string, string[]> {
  const lines = (TABLES[table]?.() ?? '').split('\n').slice(2);
  const rows = lines.map((line) => line.slice(2, -2).split(' | '));
  return new Map(rows.map(([name = '', ...cells]) => [name.replaceAll('`', ''), cells]));
}

describe('the table of the configuration', () => {
  const rows = rowsOf('configuration');

  it.each([
    ['KAFKA_BROKERS', 'ingress, control, CLI, console', '**required**'],
    ['KAFKA_CA_FILE', 'ingress, control, CLI, console', '–'],
    ['SEALING_KEY_FILE', 'ingress, control, console', '**required** by control'],
    ['MAX_BODY_BYTES', 'ingress', '`52428800` (50 MiB)'],
    ['MIN_INSYNC_REPLICAS', 'ingress, control, CLI, console', '`2`'],
    ['RETIRED_KEYS_TTL_MS', 'ingress, control, console', '`86400000` (1 d)'],
    ['COMMAND_DEADLINE_MS', 'control', '`600000` (10 min)'],
    ['ADMIN_PORT', 'ingress, control', '`9464`'],
    ['COMMAND_TOPICS', 'control, CLI, console', '`{TOPIC_PREFIX}.commands`'],
    ['ALLOWED_SOURCES', 'ingress', '–'],
    ['CONSOLE_PORT', 'console', '`8070`'],
    ['SANDBOX_URL', 'CLI', '`http://127.0.0.1:8090`'],
  ])('says of %s who reads it, and its default', (name, by, fallback) => {
    expect(rows.get(name)?.slice(0, 2)).toEqual([by, fallback]);
  });

  it('has a default, a reader and a meaning in every row', () => {
    for (const [name, cells] of [...rows, ...rowsOf('sandbox')]) {
      for (const cell of cells) expect(cell.trim(), name).not.toBe('');
    }
  });
});

it('a list as a default can be broken between its parts', () => {
  expect(rowsOf('sandbox').get('SANDBOX_RETRY_SCHEDULE')?.[0]).toBe('`1`, `5`, `30`, `120`, `600`');
});

it('a document without the markers of a table is refused', () => {
  expect(() => withTables('configuration')('# Hookline')).toThrow('no markers for the table configuration');
});
