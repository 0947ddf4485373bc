import {
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  type JsonScanner,
  NotJson,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
} from '../core/json-scanner.ts';

/** Takes the arrays at a place, element by element. */
export type ArrayReader = {
  /** The byte behind the array that was taken last. */
  readonly end: number;
  /** Takes the array that begins at `from`, in place of the one before. @throws NotJson */
  read(scanner: JsonScanner, from: number): void;
  /** Releases what was taken. */
  drop(): void;
};

/** A place in a message that pointers lead to or through. */
export class Place {
  readonly name: string;
  readonly nameBytes: Buffer;
  /** Whether JSON may write the name as it is: nothing in it must be escaped. */
  readonly isPlain: boolean;
  readonly children: Place[] = [];
  /** The child that came first in the last object here: mostly it does so again. */
  first: Place | undefined;
  /** The sibling that came next in the last object. */
  next: Place | undefined;
  /** Where the spans of its value are kept: one for each pointer that leads here. */
  readonly slots: number[] = [];
  /** What takes its elements, where it is an array: one for each field that is written of them. */
  readonly arrays: ArrayReader[] = [];
  /** The walk in which it was last come to. */
  walk = 0;

  constructor(name = '') {
    this.name = name;
    this.nameBytes = Buffer.from(name);
    this.isPlain = JSON.stringify(name) === `"${name}"`;
  }

  /** The place that the steps lead to from here. */
  at(steps: readonly string[]): Place {
    let place: Place = this;
    for (const step of steps) {
      const child = place.children.find(({ name }) => name === step) ?? new Place(step);
      if (!place.children.includes(child)) place.children.push(child);
      place = child;
    }
    return place;
  }
}

/**
 * Finds in one walk over a value where the values stand that pointers lead to. As with `JSON.parse`, the last member
 * counts where a name comes twice.
 */
export class SpanFinder {
  /** Per slot the first byte; -1 where there is none. */
  readonly starts: Int32Array;
  /** Per slot the byte behind the last. */
  readonly ends: Int32Array;
  readonly #root: Place;
  readonly #arrays: readonly ArrayReader[];
  #walk = 0;

  constructor(root: Place, slots: number, arrays: readonly ArrayReader[]) {
    this.#root = root;
    this.#arrays = arrays;
    this.starts = new Int32Array(slots);
    this.ends = new Int32Array(slots);
  }

  /** Behind the value that begins at `at`. @throws NotJson */
  find(scanner: JsonScanner, at: number): number {
    this.starts.fill(-1);
    this.#walk++;
    return this.#visit(scanner, this.#root, at);
  }

  /** Releases what was kept of arrays. */
  drop(): void {
    for (const elements of this.#arrays) elements.drop();
  }

  #visit(scanner: JsonScanner, place: Place, at: number): number {
    const end = this.#walkOver(scanner, place, at);
    for (const slot of place.slots) {
      this.starts[slot] = at;
      this.ends[slot] = end;
    }
    return end;
  }

  #walkOver(scanner: JsonScanner, place: Place, at: number): number {
    const { children, arrays } = place;
    const sign = scanner.bytes[at];
    if (sign === OPEN_OBJECT && children.length > 0) return this.#visitObject(scanner, place, at);
    if (sign !== OPEN_ARRAY) return scanner.skipValue(at);
    for (const elements of arrays) elements.read(scanner, at);
    if (children.length > 0) return this.#visitArray(scanner, place, at);
    return arrays[0]?.end ?? scanner.skipValue(at);
  }

  #visitObject(scanner: JsonScanner, place: Place, from: number): number {
    const { bytes } = scanner;
    let at = scanner.skipSpace(from + 1);
    if (bytes[at] === CLOSE_OBJECT) return at + 1;
    let before: Place | undefined;
    let expected = place.first;
    for (;;) {
      if (bytes[at] !== QUOTE) throw new NotJson();
      let child = expected;
      let nameEnd: number;
      if (child?.isPlain && isNamed(bytes, child, at)) nameEnd = at + child.nameBytes.length + 2;
      else {
        nameEnd = scanner.skipString(at);
        child = childNamed(scanner, place, at, nameEnd);
        if (child && before) before.next = child;
        else if (child) place.first = child;
      }
      if (child) {
        before = child;
        expected = child.next;
      }
      const value = scanner.toMemberValue(nameEnd);
      const end = child ? this.#visitMember(scanner, child, value) : scanner.skipValue(value);
      const next = scanner.toNext(end, CLOSE_OBJECT);
      if (next === null) return scanner.skipSpace(end) + 1;
      at = next;
    }
  }

  #visitMember(scanner: JsonScanner, place: Place, at: number): number {
    // It comes twice: what was found in the first one counts no more.
    if (place.walk === this.#walk) this.#forget(place);
    place.walk = this.#walk;
    return this.#visit(scanner, place, at);
  }

  #visitArray(scanner: JsonScanner, place: Place, from: number): number {
    const start = scanner.skipSpace(from + 1);
    let n = 0;
    let at: number | null = start;
    let end = start;
    if (scanner.bytes[start] === CLOSE_ARRAY) at = null;
    while (at !== null) {
      const step = String(n++);
      const child = place.children.find(({ name }) => name === step);
      end = child ? this.#visit(scanner, child, at) : scanner.skipValue(at);
      at = scanner.toNext(end, CLOSE_ARRAY);
    }
    return scanner.skipSpace(end) + 1;
  }

  #forget(place: Place): void {
    for (const slot of place.slots) this.starts[slot] = -1;
    for (const child of place.children) this.#forget(child);
  }
}

function childNamed(scanner: JsonScanner, { children }: Place, from: number, end: number): Place | undefined {
  if (scanner.escaped) {
    const name: string = JSON.parse(scanner.bytes.toString('utf8', from, end));
    return children.find((child) => child.name === name);
  }
  const length = end - from - 2;
  for (let n = 0; n < children.length; n++) {
    const child = children[n] as Place;
    const { nameBytes } = child;
    if (nameBytes.length === length && isAt(scanner.bytes, nameBytes, from + 1)) return child;
  }
  return undefined;
}

/** Whether the string that begins at `from` is the plain name of `child`. */
function isNamed(bytes: Buffer, { nameBytes }: Place, from: number): boolean {
  return bytes[from + nameBytes.length + 1] === QUOTE && isAt(bytes, nameBytes, from + 1);
}

function isAt(bytes: Buffer, name: Buffer, from: number): boolean {
  for (let n = 0; n < name.length; n++) if (bytes[from + n] !== name[n]) return false;
  return true;
}
