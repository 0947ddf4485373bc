import Table from 'cli-table3';
import { columnWidths, visible, wrap } from './fit-columns.ts';
import type { Shell } from './shell.ts';

type Row = Readonly<Record<string, unknown>>;

/** Rows as a table for people, no wider than their terminal, or as JSON for programs. */
export function printRows(shell: Shell, json: boolean, rows: readonly Row[]): void {
  if (json) return shell.print(JSON.stringify(rows, jsonValue, 2));
  if (rows.length === 0) return shell.note('Nothing to show.');
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const columns = names.filter((name) => rows.some((row) => cell(row[name]) !== ''));
  const cells = [columns, ...rows.map((row) => columns.map((column) => cell(row[column])))];
  // Each column has a space behind it, and another one between it and the next.
  const widths = columnWidths(cells, (shell.columns ?? Number.POSITIVE_INFINITY) - 2 * columns.length + 1);
  const [head = [], ...body] = cells.map((row) => row.map((text, column) => wrap(text, widths[column] ?? 0)));
  const table = new Table({ head, chars: PLAIN, style: { head: [], border: [], 'padding-left': 0 } });
  table.push(...body);
  shell.print(table.toString().replaceAll(/ +$/gm, ''));
}

/** One record as a line per field that it has, for people; as JSON it is a list of one, like other rows. */
export function printFields(shell: Shell, fields: Row): void {
  const given = Object.entries(fields).filter(([, value]) => value !== null && value !== undefined);
  const indent = Math.max(0, ...given.map(([name]) => name.length)) + 2;
  const width = Math.max((shell.columns ?? Number.POSITIVE_INFINITY) - indent, indent);
  for (const [name, value] of given) {
    const lines = wrap(cell(value), width)
      .split('\n')
      .join(`\n${' '.repeat(indent)}`);
    shell.print(`${name.padEnd(indent)}${lines}`.replaceAll(/ +$/gm, ''));
  }
}

/** JSON as the CLI prints it: offsets as numbers or, beyond 2^53, as strings; bytes as base64. */
export function jsonValue(this: unknown, key: string, value: unknown): unknown {
  // What stands in the object itself: a message's own {"type":"Buffer"} looks like a buffer that has become JSON.
  const own = typeof this === 'object' && this !== null ? (this as Record<string, unknown>)[key] : value;
  if (ArrayBuffer.isView(own)) {
    return Buffer.from(own.buffer, own.byteOffset, own.byteLength).toString('base64');
  }
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  return value;
}

function cell(value: unknown): string {
  if (value === undefined || value === null) return '';
  return visible(typeof value === 'object' ? JSON.stringify(value, jsonValue) : String(value));
}

/** Two spaces between columns, a line under the head. */
const PLAIN = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: ' ',
};
