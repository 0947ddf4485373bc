import Table from 'cli-table3';
import { showHidden } from '../../core/hidden-characters.ts';
import { parseBoundedJson } from '../../core/json.ts';
import type { Shell } from './shell.ts';

type Row = Readonly<Record<string, unknown>>;

/** Prints rows as a table that fits the terminal, or as JSON. */
export function printRows(shell: Shell, json: boolean, rows: readonly Row[]): void {
  if (json) return shell.print(JSON.stringify(rows, jsonValue, 2));
  if (rows.length === 0) return shell.note('Nothing to show.');
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const columns = names.filter((name) => rows.some((row) => cell(row[name]) !== ''));
  const cells = [columns, ...rows.map((row) => columns.map((column) => cell(row[column])))];
  // One space after each column, and another one between columns.
  const widths = columnWidths(cells, (shell.columns ?? Number.POSITIVE_INFINITY) - 2 * columns.length + 1);
  const [head = [], ...body] = cells.map((row) => row.map((text, column) => wrap(text, widths[column] ?? 0)));
  const style = { head: [], border: [], 'padding-left': 0 };
  // The longest line decides a column's width: in each table the first row has one.
  const padded = (text: string, column: number) => {
    const [line = '', ...rest] = text.split('\n');
    const spaces = ' '.repeat(Math.max(0, (widths[column] ?? 0) - widthOf(line)));
    return [line + spaces, ...rest].join('\n');
  };
  for (let at = 0; at < body.length; at += ROWS_AT_ONCE) {
    const table = new Table({ ...(at === 0 && { head }), chars: PLAIN, style });
    const [first = [], ...others] = body.slice(at, at + ROWS_AT_ONCE);
    table.push(body.length > ROWS_AT_ONCE ? first.map(padded) : first, ...others);
    shell.print(table.toString().replaceAll(LAST_SPACES, ''));
  }
}

/** Looked for where a run of spaces begins: from each space on, a text with a megabyte of them would take hours. */
const LAST_SPACES = /(?<! ) +$/gm;

/** A table's time grows faster than its rows: many are several tables, one below the other. */
const ROWS_AT_ONCE = 200;

/** Prints one record as a line per field. Absent fields are left out. */
export function printFields(shell: Shell, fields: Row): void {
  const given = Object.entries(fields).filter(([, value]) => value !== null && value !== undefined);
  const indent = Math.max(0, ...given.map(([name]) => name.length)) + 2;
  const width = Math.max((shell.columns ?? Number.POSITIVE_INFINITY) - indent, indent);
  for (const [name, value] of given) {
    const lines = wrap(cell(value), width)
      .split('\n')
      .join(`\n${' '.repeat(indent)}`);
    shell.print(`${name.padEnd(indent)}${lines}`.replaceAll(LAST_SPACES, ''));
  }
}

/** Replacer for JSON.stringify: offsets as numbers or, beyond 2^53, as strings; bytes as base64. */
export function jsonValue(this: unknown, key: string, value: unknown): unknown {
  // `value` has been through Buffer.toJSON: it cannot be told apart from a message's own {"type":"Buffer"}.
  const own = typeof this === 'object' && this !== null ? (this as Record<string, unknown>)[key] : value;
  if (ArrayBuffer.isView(own)) {
    return Buffer.from(own.buffer, own.byteOffset, own.byteLength).toString('base64');
  }
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  return value;
}

/** Deeper JSON is printed as text: JSON.stringify would overflow the stack. */
const SHOWN_JSON = { maxValues: Number.POSITIVE_INFINITY, maxDepth: 1_000 };

/** Bytes as a value that can be printed: JSON, else text, else base64. */
export function readableBody(bytes: Buffer): unknown {
  const text = bytes.toString('utf8');
  if (!Buffer.from(text).equals(bytes)) return { bytes: bytes.length, base64: bytes.toString('base64') };
  try {
    return parseBoundedJson(text, SHOWN_JSON);
  } catch {
    return text;
  }
}

function cell(value: unknown): string {
  if (value === undefined || value === null) return '';
  return visible(typeof value === 'object' ? JSON.stringify(value, jsonValue) : String(value));
}

/** Two spaces between columns, and a line under the header. */
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

/** Narrowest column. Text is wrapped and never truncated: people copy ids and addresses from the table. */
const MIN_WIDTH = 8;

type Rows = readonly (readonly string[])[];

/** Widths with which all columns fit into `available`: first lines are broken between words, then within words. */
export function columnWidths(rows: Rows, available: number): number[] {
  const longest = (separator: RegExp) =>
    (rows[0] ?? []).map((_, column) =>
      rows.reduce((most, row) => Math.max(most, longestOf((row[column] ?? '').split(separator))), 0),
    );
  const widths = longest(/\n/);
  shrink(widths, longest(/\s/), available);
  shrink(
    widths,
    widths.map(() => MIN_WIDTH),
    available,
  );
  return widths;
}

/** Not Math.max(...): so many arguments as a large table has rows overflow the stack. */
const longestOf = (texts: readonly string[]) =>
  texts.reduce((most, text) => Math.max(most, widthOf(text)), 0);

/** Signs that a terminal shows two columns wide: Chinese, Japanese and Korean ones, their punctuation, and emoji. */
const WIDE =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\u3000-\u303e\uff01-\uff60\uffe0-\uffe6]/u;
/** They stand above or below the sign before them. */
const MARK = /\p{M}/u;

function columnsOf(sign: string): number {
  if (sign < '\u0300') return 1;
  if (MARK.test(sign)) return 0;
  return WIDE.test(sign) ? 2 : 1;
}

/** Columns of a terminal that a text takes. */
function widthOf(text: string): number {
  let width = 0;
  for (const sign of text) width += columnsOf(sign);
  return width;
}

/** The length of the beginning that takes so many columns at most: whole signs, and at least one. */
function lengthWithin(text: string, width: number): number {
  let length = 0;
  let columns = 0;
  for (const sign of text) {
    columns += columnsOf(sign);
    if (columns > width && length > 0) return length;
    length += sign.length;
  }
  return length;
}

/** Narrows the widest column step by step, until all fit or every column has its least width. */
function shrink(widths: number[], least: readonly number[], available: number): void {
  const canShrink = (column: number) => (widths[column] ?? 0) > (least[column] ?? 0);
  while (widths.reduce((total, width) => total + width, 0) > available) {
    const widest = Math.max(...widths.filter((_, column) => canShrink(column)));
    const column = widths.findIndex((width, at) => width === widest && canShrink(at));
    if (column < 0) return;
    widths[column] = widest - 1;
  }
}

/** Breaks lines between words. A word longer than a line is broken too, preferably after a character such as a dot. */
export function wrap(text: string, width: number): string {
  return text
    .split('\n')
    .map((line) => wrapLine(line, width))
    .join('\n');
}

function wrapLine(line: string, width: number): string {
  const lines: string[] = [];
  let rest = line;
  for (let most = lengthWithin(rest, width); most < rest.length; most = lengthWithin(rest, width)) {
    const space = rest.lastIndexOf(' ', most);
    const end = space > 0 ? space : breakWithin(rest.slice(0, most));
    lines.push(rest.slice(0, end));
    rest = rest.slice(space > 0 ? end + 1 : end);
  }
  return [...lines, rest].join('\n');
}

function breakWithin(word: string): number {
  const afterPunctuation = /^.*[-./=:,@_]/s.exec(word)?.[0].length ?? 0;
  return afterPunctuation > word.length / 2 ? afterPunctuation : word.length;
}

/** Escapes what is hidden except line ends: text from outside must not control the operator's terminal, or look like another one. */
export const visible = (text: string): string => showHidden(text, '\n');

/** Escapes line ends too: text from outside must not look like a further line of the output. */
export const oneLine = (text: string): string => visible(text).replaceAll('\n', '\\n');
