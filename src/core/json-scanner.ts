/** Bytes that aren't JSON (RFC 8259). Says no more: an error must not quote a message. */
export class NotJson extends Error {}

export const QUOTE = 0x22;
export const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const SPACE = 0x20;
export const OPEN_OBJECT = 0x7b;
export const CLOSE_OBJECT = 0x7d;
export const OPEN_ARRAY = 0x5b;
export const CLOSE_ARRAY = 0x5d;

const TRUE = Buffer.from('true');
const FALSE = Buffer.from('false');
const NULL = Buffer.from('null');

/** What may follow a backslash, except the u. */
const ESCAPES = new Set(Buffer.from('"\\/bfnrt'));

/**
 * Walks over JSON in UTF-8 without making anything of it. It takes what `JSON.parse` takes and nothing else, however
 * deep it goes. Each method starts at a value's first byte and gives the place behind its last.
 */
export class JsonScanner {
  /** What is walked over; it may be changed for the next. */
  bytes: Buffer;
  /** Whether the string that was skipped last has an escape in it. */
  escaped = false;
  /** Per level whether it is an object; kept, as the next container is mostly as deep. */
  #levels = new Uint8Array(64);

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  /** @throws NotJson */
  skipValue(at: number): number {
    const sign = this.bytes[at];
    if (sign === QUOTE) return this.skipString(at);
    if (sign === OPEN_OBJECT || sign === OPEN_ARRAY) return this.#skipContainer(at);
    if (sign === 0x74) return this.#skipLiteral(at, TRUE);
    if (sign === 0x66) return this.#skipLiteral(at, FALSE);
    if (sign === 0x6e) return this.#skipLiteral(at, NULL);
    return this.#skipNumber(at);
  }

  skipSpace(from: number): number {
    const { bytes } = this;
    let at = from;
    while (at < bytes.length) {
      const sign = bytes[at] as number;
      if (sign > 0x20 || (sign !== 0x20 && sign !== 0x0a && sign !== 0x0d && sign !== 0x09)) break;
      at++;
    }
    return at;
  }

  skipString(from: number): number {
    const { bytes } = this;
    const end = bytes.length;
    this.escaped = false;
    let at = from + 1;
    for (;;) {
      let sign = 0;
      // Most of a message is text: this is where the time goes.
      while (at < end) {
        sign = bytes[at] as number;
        if (sign === QUOTE || sign === BACKSLASH || sign < 0x20) break;
        at++;
      }
      if (at >= end || sign < 0x20) throw new NotJson();
      if (sign === QUOTE) return at + 1;
      at = this.#skipEscape(at);
    }
  }

  /** Behind a member's name and its colon, at its value. */
  toMemberValue(nameEnd: number): number {
    const { bytes } = this;
    const at = bytes[nameEnd] === COLON ? nameEnd : this.skipSpace(nameEnd);
    if (bytes[at] !== COLON) throw new NotJson();
    return (bytes[at + 1] as number) > SPACE ? at + 1 : this.skipSpace(at + 1);
  }

  /** At the next member's name or the next element, or null where the container ends here. */
  toNext(valueEnd: number, close: number): number | null {
    const { bytes } = this;
    const at = (bytes[valueEnd] as number) > SPACE ? valueEnd : this.skipSpace(valueEnd);
    const sign = bytes[at];
    if (sign === close) return null;
    if (sign !== COMMA) throw new NotJson();
    return (bytes[at + 1] as number) > SPACE ? at + 1 : this.skipSpace(at + 1);
  }

  /** Behind the escape. */
  #skipEscape(at: number): number {
    this.escaped = true;
    const sign = this.bytes[at + 1] as number;
    if (ESCAPES.has(sign)) return at + 2;
    if (sign !== 0x75) throw new NotJson();
    for (let n = 2; n < 6; n++) if (!isHex(this.bytes[at + n])) throw new NotJson();
    return at + 6;
  }

  #skipLiteral(at: number, literal: Buffer): number {
    for (let n = 1; n < literal.length; n++) if (this.bytes[at + n] !== literal[n]) throw new NotJson();
    return at + literal.length;
  }

  #skipNumber(from: number): number {
    const { bytes } = this;
    let at = bytes[from] === 0x2d ? from + 1 : from;
    at = bytes[at] === 0x30 ? at + 1 : this.#skipDigits(at);
    if (bytes[at] === 0x2e) at = this.#skipDigits(at + 1);
    if (bytes[at] === 0x65 || bytes[at] === 0x45) {
      const sign = bytes[at + 1];
      at = this.#skipDigits(sign === 0x2b || sign === 0x2d ? at + 2 : at + 1);
    }
    return at;
  }

  #skipDigits(from: number): number {
    let at = from;
    while (isDigit(this.bytes[at])) at++;
    if (at === from) throw new NotJson();
    return at;
  }

  /** Not by calling itself: a message may be as deep as it is long. */
  #skipContainer(from: number): number {
    const { bytes } = this;
    let depth = 0;
    let at = from;
    for (;;) {
      // At a value.
      const sign = bytes[at];
      if (sign === OPEN_OBJECT || sign === OPEN_ARRAY) {
        const close = sign === OPEN_OBJECT ? CLOSE_OBJECT : CLOSE_ARRAY;
        const inside = this.skipSpace(at + 1);
        if (bytes[inside] !== close) {
          this.#enter(++depth, sign === OPEN_OBJECT);
          at = sign === OPEN_OBJECT ? this.#skipName(inside) : inside;
          continue;
        }
        at = inside + 1;
      } else at = this.skipValue(at);
      // Behind a value: the containers that end here end, until one goes on.
      for (;;) {
        if (depth === 0) return at;
        const isObject = this.#levels[depth] === 1;
        const next = this.toNext(at, isObject ? CLOSE_OBJECT : CLOSE_ARRAY);
        if (next !== null) {
          at = isObject ? this.#skipName(next) : next;
          break;
        }
        at = this.skipSpace(at) + 1;
        depth--;
      }
    }
  }

  #skipName(at: number): number {
    if (this.bytes[at] !== QUOTE) throw new NotJson();
    return this.toMemberValue(this.skipString(at));
  }

  #enter(depth: number, isObject: boolean): void {
    if (depth === this.#levels.length) {
      const longer = new Uint8Array(2 * depth);
      longer.set(this.#levels);
      this.#levels = longer;
    }
    this.#levels[depth] = isObject ? 1 : 0;
  }
}

/** Whether all of it is one JSON value. */
export function isJson(bytes: Buffer): boolean {
  const scanner = new JsonScanner(bytes);
  try {
    return scanner.skipSpace(scanner.skipValue(scanner.skipSpace(0))) === bytes.length;
  } catch (error) {
    if (error instanceof NotJson) return false;
    throw error;
  }
}

const isDigit = (sign: number | undefined): boolean => sign !== undefined && sign >= 0x30 && sign <= 0x39;

const isHex = (sign: number | undefined): boolean =>
  isDigit(sign) || (sign !== undefined && (sign | 0x20) >= 0x61 && (sign | 0x20) <= 0x66);

/** The first byte of a value, and the one behind its last. */
export type Span = { readonly start: number; readonly end: number };

/**
 * Where the values of some top-level members are, by their names, in one walk over a JSON object. The last one counts where
 * a name comes twice, as it does for `JSON.parse`. Null where the bytes are no JSON object, from the first to the last.
 */
export function memberSpans(bytes: Buffer, names: readonly string[]): Map<string, Span> | null {
  const found = new Map<string, Span>();
  return findMembers(bytes, names, found) ? found : null;
}

/** As {@link memberSpans}; where the bytes are no JSON object, the members before the fault. */
export function leadingSpans(bytes: Buffer, names: readonly string[]): Map<string, Span> {
  const found = new Map<string, Span>();
  findMembers(bytes, names, found);
  return found;
}

/** Whether all of it is a JSON object. */
function findMembers(bytes: Buffer, names: readonly string[], found: Map<string, Span>): boolean {
  try {
    return walkMembers(bytes, names, found);
  } catch (error) {
    if (error instanceof NotJson) return false;
    throw error;
  }
}

function walkMembers(bytes: Buffer, names: readonly string[], found: Map<string, Span>): boolean {
  const scanner = new JsonScanner(bytes);
  const open = scanner.skipSpace(0);
  if (bytes[open] !== OPEN_OBJECT) return false;
  let at: number | null = scanner.skipSpace(open + 1);
  let end = at;
  if (bytes[at] === CLOSE_OBJECT) at = null;
  while (at !== null) {
    if (bytes[at] !== QUOTE) throw new NotJson();
    const nameEnd = scanner.skipString(at);
    const name: string = scanner.escaped
      ? JSON.parse(bytes.toString('utf8', at, nameEnd))
      : bytes.toString('utf8', at + 1, nameEnd - 1);
    const start = scanner.toMemberValue(nameEnd);
    end = scanner.skipValue(start);
    if (names.includes(name)) found.set(name, { start, end });
    at = scanner.toNext(end, CLOSE_OBJECT);
  }
  return scanner.skipSpace(scanner.skipSpace(end) + 1) === bytes.length;
}
