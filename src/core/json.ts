export type JsonLimits = {
  /** Members, elements and containers: what JSON.parse allocates for, tens of bytes for each. */
  readonly maxValues: number;
  /** Levels of objects and arrays. */
  readonly maxDepth: number;
};

/** It is JSON perhaps, and more of it than is read. */
export class JsonTooLarge extends Error {}

/**
 * `JSON.parse`, bounded: a megabyte of `[{},{},…` becomes twenty megabytes of objects, and deep JSON overflows the
 * stack of whatever walks it afterwards.
 * @throws JsonTooLarge before anything is allocated; SyntaxError
 */
export function parseBoundedJson(text: string, limits: JsonLimits): unknown {
  let values = 0;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const sign = text.charCodeAt(at);
    if (sign === 0x22) at = stringEnd(text, at);
    else if (sign === 0x7b || sign === 0x5b) {
      values++;
      if (++depth > limits.maxDepth) throw new JsonTooLarge(`more than ${limits.maxDepth} levels`);
    } else if (sign === 0x7d || sign === 0x5d) depth--;
    else if (sign === 0x2c) values++;
    if (values > limits.maxValues) throw new JsonTooLarge(`more than ${limits.maxValues} values`);
  }
  return JSON.parse(text);
}

/** At the string's closing quote, or the text's end where it has none. */
function stringEnd(text: string, from: number): number {
  for (let end = text.indexOf('"', from + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(end - 1 - backslashes) === 0x5c) backslashes++;
    if (backslashes % 2 === 0) return end;
  }
  return text.length;
}

/** A JSON pointer (RFC 6901) read into steps; `null` where the text is none. */
export function parsePointer(text: string): readonly string[] | null {
  if (text === '') return [];
  if (!text.startsWith('/') || /~(?![01])/.test(text)) return null;
  return text
    .slice(1)
    .split('/')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/**
 * The value that the steps lead to, or undefined. Own properties only: a message can't reach what JavaScript puts
 * behind an object's name.
 */
export function resolvePointer(value: unknown, steps: readonly string[]): unknown {
  let at = value;
  for (const step of steps) {
    if (typeof at !== 'object' || at === null) return undefined;
    if (Array.isArray(at) && !/^(0|[1-9]\d*)$/.test(step)) return undefined;
    if (!Object.hasOwn(at, step)) return undefined;
    at = (at as Record<string, unknown>)[step];
  }
  return at;
}
