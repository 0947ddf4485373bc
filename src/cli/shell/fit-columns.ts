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
