/** Text in the columns of a terminal. Nothing is cut off: ids and addresses are there to be copied. */

/** Less than this no column gets, or it would be a column of letters. */
const LEAST = 8;

/** How wide each column may be so that all fit into `available`: the widest ones give way. */
export function columnWidths(rows: readonly (readonly string[])[], available: number): number[] {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => widthOf(row[column] ?? ''))),
  );
  const sum = () => widths.reduce((total, width) => total + width, 0);
  while (sum() > available) {
    const widest = Math.max(...widths);
    if (widest <= LEAST) break;
    widths[widths.indexOf(widest)] = widest - 1;
  }
  return widths;
}

const widthOf = (text: string) => Math.max(...text.split('\n').map((line) => line.length));

/** Broken between words, and within one where it is longer than a line. */
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
    const end = space > 0 ? space : width;
    lines.push(rest.slice(0, end));
    rest = rest.slice(space > 0 ? end + 1 : end);
  }
  return [...lines, rest].join('\n');
}

/**
 * Control characters as escapes, but for line ends: bodies and answers come from outside, and must not be able to
 * steer the terminal of who looks at them.
 */
export const visible = (text: string): string =>
  text.replaceAll(
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
    /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
