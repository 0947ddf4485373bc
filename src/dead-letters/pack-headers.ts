import { DEAD_LETTER_HEADERS as NAMES } from '../delivery/dead-letter/dead-letter-headers.ts';

type Headers = Readonly<Record<string, string>>;

/** Key and headers of a record in about 100 bytes: what other records have too is held once for all of them. */
export type Packed = { readonly shape: Shape; readonly own: string };

/** Names in their order. The text is null where each record has its own. */
type Shape = readonly (readonly [name: string, text: string | null])[];

/** Different for nearly each record, even if two neighbours have the same. */
const ALWAYS_OWN: ReadonlySet<string> = new Set([
  NAMES.eventId,
  NAMES.receivedAt,
  NAMES.offset,
  NAMES.traceparent,
  NAMES.commandId,
  NAMES.bodyUri,
  NAMES.bodyBytes,
  NAMES.bodySha256,
  NAMES.redrivenAt,
  NAMES.redrivenFrom,
  NAMES.partsOf,
]);

/** Texts and shapes that are looked up before another copy is kept. */
const MAX_KNOWN = 1_000;
/** A longer text is not shared: it would stay here after its record. */
const MAX_SHARED = 500;

/** Stands for a key that is the event id, as Hookline writes it. */
const IS_EVENT_ID = 0;

export class HeaderPacker {
  /** Texts that at least one record had, each with its header's name. */
  readonly #seen = new Set<string>();
  readonly #shapes = new Map<string, Shape>();

  pack(headers: Headers, key: string | null): Packed {
    const own: (string | null | 0)[] = [key === headers[NAMES.eventId] ? IS_EVENT_ID : key];
    const shape = Object.entries(headers).map(([name, text]) => {
      if (this.#isShared(name, text)) return [name, text] as const;
      own.push(text);
      return [name, null] as const;
    });
    return { shape: this.#known(shape), own: JSON.stringify(own) };
  }

  #isShared(name: string, text: string): boolean {
    if (ALWAYS_OWN.has(name) || text.length > MAX_SHARED) return false;
    const named = `${name}\n${text}`;
    if (this.#seen.has(named)) return true;
    if (this.#seen.size >= MAX_KNOWN) this.#seen.clear();
    this.#seen.add(named);
    return false;
  }

  #known(shape: Shape): Shape {
    const text = JSON.stringify(shape);
    const known = this.#shapes.get(text);
    if (known) return known;
    if (this.#shapes.size >= MAX_KNOWN) this.#shapes.clear();
    this.#shapes.set(text, shape);
    return shape;
  }
}

export function unpack({ shape, own }: Packed): { readonly headers: Headers; readonly key: string | null } {
  const [key, ...texts] = JSON.parse(own) as [string | null | 0, ...string[]];
  let n = 0;
  const headers = Object.fromEntries(shape.map(([name, text]) => [name, text ?? texts[n++] ?? '']));
  return { headers, key: key === IS_EVENT_ID ? (headers[NAMES.eventId] ?? null) : key };
}
