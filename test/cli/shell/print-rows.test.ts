import { describe, expect, it } from 'vitest';
import { jsonValue, printFields, printRows } from '../../../src/cli/shell/print-rows.ts';
import type { Shell } from '../../../src/cli/shell/shell.ts';

/** A shell that keeps what is printed. */
function openShell(columns?: number) {
  const printed: string[] = [];
  const notes: string[] = [];
  const shell: Shell = {
    source: { env: {}, fileFault: () => null },
    print: (line) => printed.push(line),
    write: async (bytes) => void printed.push(bytes.toString()),
    note: (line) => notes.push(line),
    signal: new AbortController().signal,
    columns,
  };
  return { shell, notes, out: () => printed.join('\n') };
}

const ROWS = [
  { topic: 'payments.commands', settings: 'cleanup.policy=delete compression.type=uncompressed', n: 6 },
  { topic: 'payments.subscriptions', settings: 'cleanup.policy=compact', remarks: null },
];

describe('rows', () => {
  it('are a table with a column for each field that has a value in any row', () => {
    const { shell, out } = openShell();
    printRows(shell, false, ROWS);
    expect(out()).toBe(
      [
        'topic                   settings                                             n',
        'payments.commands       cleanup.policy=delete compression.type=uncompressed  6',
        'payments.subscriptions  cleanup.policy=compact',
      ].join('\n'),
    );
  });

  it.each([70, 80, 120])('fit into a terminal of %i columns, and lose nothing', (columns) => {
    const { shell, out } = openShell(columns);
    printRows(shell, false, ROWS);
    for (const line of out().split('\n')) expect(line.length).toBeLessThanOrEqual(columns);
    for (const word of ['compression.type=uncompressed', 'payments.subscriptions'])
      expect(out()).toContain(word);
  });

  it('are one table, however many there are', () => {
    const { shell, out } = openShell(60);
    const rows = Array.from({ length: 1_000 }, (_, n) => ({
      n,
      name: n === 700 ? 'the longest' : 'short',
      last: n,
    }));
    printRows(shell, false, rows);
    const lines = out().split('\n');
    expect([lines.length, lines[0]]).toEqual([1_001, 'n    name         last']);
    expect(new Set(lines.slice(1).map((line) => line.lastIndexOf(' ')))).toEqual(new Set([17]));
  });

  it('as JSON do not depend on the terminal, and are an empty list if there are none', () => {
    const { shell, out } = openShell(40);
    printRows(shell, true, ROWS);
    expect(JSON.parse(out())).toEqual(ROWS);
    const none = openShell();
    printRows(none.shell, true, []);
    expect(none.out()).toBe('[]');
  });

  it('that do not exist are reported on standard error', () => {
    const { shell, notes, out } = openShell();
    printRows(shell, false, []);
    expect([out(), notes]).toEqual(['', ['Nothing to show.']]);
  });

  it('cannot control the terminal', () => {
    const { shell, out } = openShell();
    printRows(shell, false, [{ said: '\u001b[2J\u009bgone' }]);
    expect(out()).toBe('said\n\\u001b[2J\\u009bgone');
  });
});

describe('the fields of a record', () => {
  const RECORD = {
    commandId: 'c-1',
    ref: null,
    status: 'SUCCEEDED',
    attempts: 0,
    dryRun: false,
    note: undefined,
  };

  it('are a line each; absent ones are left out', () => {
    const { shell, out } = openShell();
    printFields(shell, RECORD);
    expect(out()).toBe('commandId  c-1\nstatus     SUCCEEDED\nattempts   0\ndryRun     false');
  });

  it('are wrapped under their value if they are longer than a line', () => {
    const { shell, out } = openShell(30);
    printFields(shell, { message: 'the payment service refused the request', ref: 'a' });
    expect(out()).toBe('message  the payment service\n         refused the request\nref      a');
  });
});

it('takes no time that grows with the square of the spaces in a text', { timeout: 20_000 }, () => {
  const { shell, out } = openShell();
  // Looked for from each space on, the last ones take more than half a minute.
  const value = `a${' '.repeat(96 * 1024)}b`;
  printFields(shell, { value });
  printRows(shell, false, [{ value }]);
  expect(out()).toBe(`value  ${value}\nvalue\n${value}`);
});

describe('a value in JSON', () => {
  it('is a number up to 2^53, and base64 for bytes', () => {
    const value = { near: 12n, far: 2n ** 60n, bytes: Buffer.from('abc'), view: new Uint8Array([1]) };
    expect(JSON.parse(JSON.stringify(value, jsonValue))).toEqual({
      near: 12,
      far: '1152921504606846976',
      bytes: 'YWJj',
      view: 'AQ==',
    });
  });

  it.each([
    [{ type: 'Buffer' }],
    [{ type: 'Buffer', data: [97] }],
    [{ type: 'Buffer', data: 'x', entityId: 'e' }],
  ])('that only looks like bytes is unchanged: %j', (message) => {
    expect(JSON.parse(JSON.stringify({ message }, jsonValue))).toEqual({ message });
  });
});
