import Table from 'cli-table3';
import type { Shell } from './shell.ts';

/** Rows as a table for people, or as JSON for programs. */
export function printRows(
  shell: Shell,
  json: boolean,
  rows: readonly Readonly<Record<string, unknown>>[],
): void {
  if (json) return shell.print(JSON.stringify(rows, jsonValue, 2));
  if (rows.length === 0) return shell.note('Nothing to show.');
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const table = new Table({
    head: columns,
    chars: PLAIN,
    style: { head: [], border: [], 'padding-left': 0 },
  });
  for (const row of rows) table.push(columns.map((column) => cell(row[column])));
  shell.print(table.toString().replaceAll(/ +$/gm, ''));
}

/** JSON as the CLI prints it: offsets as numbers or, beyond 2^53, as strings; bytes as base64. */
export function jsonValue(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (isBufferJson(value)) return Buffer.from(value.data).toString('base64');
  return value;
}

const isBufferJson = (value: unknown): value is { data: number[] } =>
  typeof value === 'object' && value !== null && (value as { type?: unknown }).type === 'Buffer';

function cell(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'object' ? JSON.stringify(value, jsonValue) : String(value);
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
