/**
 * Where the value of a top-level member stands in the text of a JSON object, so that it can be replaced and all the
 * rest kept to the byte. The last one counts where a name comes twice, as it does for `JSON.parse`.
 * @param text JSON that has been parsed before: it is valid, and an object
 */
export function memberSpan(text: string, name: string): { start: number; end: number } | null {
  let found: { start: number; end: number } | null = null;
  let at = skipSpace(text, text.indexOf('{') + 1);
  while (text[at] === '"') {
    const nameEnd = stringEnd(text, at);
    const isIt = JSON.parse(text.slice(at, nameEnd)) === name;
    const start = skipSpace(text, skipSpace(text, nameEnd) + 1);
    const end = valueEnd(text, start);
    if (isIt) found = { start, end };
    at = skipSpace(text, skipSpace(text, end) + 1);
  }
  return found;
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (at < text.length && text.charCodeAt(at) <= 0x20) at++;
  return at;
}

function stringEnd(text: string, from: number): number {
  let at = from + 1;
  while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at + 1;
}

function valueEnd(text: string, from: number): number {
  if (text[from] === '"') return stringEnd(text, from);
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    const sign = text[at];
    if (sign === '"') at = stringEnd(text, at) - 1;
    else if (sign === '{' || sign === '[') depth++;
    else if (sign === '}' || sign === ']') {
      if (depth === 0) return at;
      if (--depth === 0) return at + 1;
    } else if (depth === 0 && (sign === ',' || text.charCodeAt(at) <= 0x20)) return at;
  }
  return text.length;
}
