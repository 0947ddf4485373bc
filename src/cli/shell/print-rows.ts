import Table from 'cli-table3';
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

/** Text in the columns of a terminal. Nothing is cut off: ids and addresses are there to be copied. */

/** Less than this no column gets, or it would be a column of letters. */
const LEAST = 8;

type Rows = readonly (readonly string[])[];

/** How wide each column may be so that all fit into `available`: first at the cost of lines, then of words. */
export function columnWidths(rows: Rows, available: number): number[] {
  const longest = (pieces: RegExp) =>
    (rows[0] ?? []).map((_, column) =>
      rows.reduce((most, row) => Math.max(most, longestOf((row[column] ?? '').split(pieces))), 0),
    );
  const widths = longest(/\n/);
  shrink(widths, longest(/\s/), available);
  shrink(
    widths,
    widths.map(() => LEAST),
    available,
  );
  return widths;
}

/** No list of arguments: a stack has no room for those of a hundred thousand rows. */
const longestOf = (pieces: readonly string[]) =>
  pieces.reduce((most, { length }) => Math.max(most, length), 0);

/** The widest column gives way, again and again, as long as one is above its least width. */
function shrink(widths: number[], least: readonly number[], available: number): void {
  const room = (column: number) => (widths[column] ?? 0) > (least[column] ?? 0);
  while (widths.reduce((total, width) => total + width, 0) > available) {
    const widest = Math.max(...widths.filter((_, column) => room(column)));
    const column = widths.findIndex((width, at) => width === widest && room(at));
    if (column < 0) return;
    widths[column] = widest - 1;
  }
}

/** Broken between words; within one where it is longer than a line, best behind a sign such as a dot. */
export function wrap(text: string, width: number): string {
  return text
    .split('\n')
    .map((line) => wrapLine(line, width))
    .join('\n');
}

function wrapLine(line: string, width: number): string {
  const lines: string[] = [];
  let rest = line;
  while (rest.length > width) {
    const space = rest.lastIndexOf(' ', width);
    const end = space > 0 ? space : breakWithin(rest.slice(0, width));
    lines.push(rest.slice(0, end));
    rest = rest.slice(space > 0 ? end + 1 : end);
  }
  return [...lines, rest].join('\n');
}

function breakWithin(word: string): number {
  const behindSign = /^.*[-./=:,@_]/s.exec(word)?.[0].length ?? 0;
  return behindSign > word.length / 2 ? behindSign : word.length;
}

/**
 * Control characters as escapes, but for line ends: bodies and answers come from outside, and must not be able to
 * steer the terminal of who looks at them.
 */
export const visible = (text: string): string =>
  text.replaceAll(
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
    /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

/** The same in one line: a text from outside must not look like a further line of ours. */
export const oneLine = (text: string): string => visible(text).replaceAll('\n', '\\n');
