import type { types as AvroTypes, Type } from 'avsc';

/** What a record may hold, beyond what its bytes bound. */
export type DecodeLimits = {
  /** Strings, numbers, lists and so on; without it as many as there are bytes. */
  readonly maxValues?: number;
};

/** Values without a byte of their own (null, an empty record, fixed 0): bytes do not bound how many there are. */
const MAX_EMPTY_VALUES = 1_000;
/** Levels of records, arrays and maps. avsc recurses as deep as the data does. */
const MAX_DEPTH = 64;
/** A long has 64 bits, seven in each byte. */
const LONG_BYTES = 10;

/** What avsc says of a long that no number holds exactly. */
const INEXACT = 'potential precision loss';

/** The bytes are not one value of the writer's type and nothing more. `leading` are the fields before the fault. */
export class Undecodable extends Error {
  readonly leading: Readonly<Record<string, unknown>>;
  /** @param faulty the field at which the record cannot be read, where it is one */
  constructor(cause: unknown, leading: Readonly<Record<string, unknown>>, faulty?: string) {
    const { message } = cause as Error;
    const why = message === INEXACT ? 'a number beyond 2^53 - 1' : message;
    super(faulty === undefined ? why : `${faulty}: ${why}`, { cause });
    this.leading = leading;
  }
}

/**
 * Reads what `writer` wrote, into the fields of `reader` where it is given. avsc believes each count and each length:
 * it allocates and skips by them before it looks whether the bytes are there. So the whole binary is walked first,
 * without any allocation, and what is decoded afterwards is known to be there. The function throws {@link Undecodable}.
 */
export function boundedDecoder(
  writer: Type,
  reader: Type = writer,
  limits: DecodeLimits = {},
): (binary: Buffer) => Record<string, unknown> {
  const known = new Map<Type, Walk>();
  const walk = compileWalk(writer, known);
  const resolver = reader === writer ? undefined : reader.createResolver(writer);
  return (binary) => {
    try {
      const cursor = new Cursor(binary, limits);
      walk(cursor);
      if (cursor.remaining > 0) throw new Error('there are bytes behind the value');
      return reader.fromBuffer(binary, resolver);
    } catch (error) {
      const { found, faulty } = leadingFields(writer, binary, { reader, limits, known });
      throw new Undecodable(error, found, faulty);
    }
  };
}

/** A command that can't be read whole still has its id, where it stands before the fault. */
function leadingFields(
  writer: Type,
  binary: Buffer,
  { reader, limits, known }: { reader: Type; limits: DecodeLimits; known: Map<Type, Walk> },
): { readonly found: Record<string, unknown>; readonly faulty?: string } {
  const found: Record<string, unknown> = {};
  if (writer.typeName !== 'record') return { found };
  const cursor = new Cursor(binary, limits);
  for (const { name, type } of (writer as AvroTypes.RecordType).fields) {
    try {
      const from = cursor.at;
      // Known already: compiled each time, each field would cost as much as the schema is large, in every such record.
      compileWalk(type, known)(cursor);
      // What the reader skips may hold what cannot be decoded.
      if ((reader as AvroTypes.RecordType).field(name)) found[name] = type.decode(binary, from).value;
    } catch {
      // This is why the record could not be read.
      return { found, faulty: name };
    }
  }
  return { found };
}

/** A position in a record's bytes that can't leave them. */
class Cursor {
  at = 0;
  depth = 0;
  readonly #bytes: Buffer;
  /** Behind the last value: what is counted at the same place has no byte of its own. */
  #countedAt = 0;
  #emptyLeft = MAX_EMPTY_VALUES;
  #valuesLeft: number;

  constructor(bytes: Buffer, { maxValues = Number.POSITIVE_INFINITY }: DecodeLimits) {
    this.#bytes = bytes;
    this.#valuesLeft = maxValues;
  }

  get remaining(): number {
    return this.#bytes.length - this.at;
  }

  skip(length: number): void {
    if (length < 0 || length > this.remaining)
      throw new Error(`${length} bytes are announced, ${this.remaining} are there`);
    this.at += length;
  }

  long(): number {
    let value = 0;
    let factor = 1;
    for (let n = 0; n < LONG_BYTES; n++) {
      const byte = this.#bytes[this.at];
      if (byte === undefined) throw new Error('it ends within a number');
      this.at++;
      value += (byte & 0x7f) * factor;
      factor *= 128;
      if (byte < 0x80) return (value % 2 === 0 ? value : -(value + 1)) / 2;
    }
    throw new Error(`a number of more than ${LONG_BYTES} bytes`);
  }

  /** A value ends here. */
  count(): void {
    if (this.at === this.#countedAt && --this.#emptyLeft < 0)
      throw new Error(`more than ${MAX_EMPTY_VALUES} values without a byte`);
    this.#countedAt = this.at;
    if (--this.#valuesLeft < 0) throw new Error('too many values');
  }

  /** @throws where not even the shortest of so many items fit into what is left */
  admit(items: number): void {
    if (items > this.remaining + this.#emptyLeft)
      throw new Error(`${items} items are announced, ${this.remaining} bytes are there`);
  }
}

type Walk = (cursor: Cursor) => void;

function compileWalk(type: Type, known: Map<Type, Walk>): Walk {
  const compiled = known.get(type);
  if (compiled) return compiled;
  let walk: Walk | undefined;
  // A recursive type refers to itself before it is compiled.
  known.set(type, (cursor) => walk?.(cursor));
  walk = walkOf(type, known);
  known.set(type, walk);
  return walk;
}

function walkOf(type: Type, known: Map<Type, Walk>): Walk {
  const { typeName } = type;
  const inner = (one: Type) => compileWalk(one, known);
  if (typeName.startsWith('union:')) return branches((type as AvroTypes.UnwrappedUnionType).types.map(inner));
  switch (typeName) {
    case 'null':
      return leaf(() => {});
    case 'boolean':
      return leaf((cursor) => cursor.skip(1));
    case 'float':
      return leaf((cursor) => cursor.skip(4));
    case 'double':
      return leaf((cursor) => cursor.skip(8));
    case 'int':
      return leaf((cursor) => {
        const value = cursor.long();
        if (value !== (value | 0)) throw new Error('an int of more than 32 bits');
      });
    case 'long':
      return leaf((cursor) => cursor.long());
    case 'enum':
      return leaf((cursor) => choose((type as AvroTypes.EnumType).symbols, cursor.long()));
    case 'bytes':
    case 'string':
      return leaf((cursor) => cursor.skip(cursor.long()));
    case 'fixed':
      return leaf((cursor) => cursor.skip((type as AvroTypes.FixedType).size));
    case 'array':
      return blocks(inner((type as AvroTypes.ArrayType).itemsType));
    case 'map':
      return blocks(entry(inner((type as AvroTypes.MapType).valuesType)));
    case 'record':
    case 'error':
      return record((type as AvroTypes.RecordType).fields.map((field) => inner(field.type)));
    default:
      throw new Error(`no record is read by the type ${typeName}`);
  }
}

const leaf =
  (read: Walk): Walk =>
  (cursor) => {
    read(cursor);
    cursor.count();
  };

function choose<T>(among: readonly T[], index: number): T {
  const one = among[index];
  if (one === undefined) throw new Error(`${index} is chosen among ${among.length}`);
  return one;
}

const branches =
  (walks: readonly Walk[]): Walk =>
  (cursor) =>
    choose(walks, cursor.long())(cursor);

const entry =
  (value: Walk): Walk =>
  (cursor) => {
    cursor.skip(cursor.long());
    value(cursor);
  };

const record = (fields: readonly Walk[]): Walk =>
  nested((cursor) => {
    if (fields.length === 0) cursor.count();
    for (const field of fields) field(cursor);
  });

/** Items come in blocks. One of a negative count says its length too: avsc skips by it and does not read by it. */
const blocks = (item: Walk): Walk =>
  nested((cursor) => {
    for (let count = cursor.long(); count !== 0; count = cursor.long()) {
      const length = count < 0 ? cursor.long() : null;
      const from = cursor.at;
      cursor.admit(Math.abs(count));
      for (let n = Math.abs(count); n > 0; n--) item(cursor);
      if (length !== null && cursor.at - from !== length)
        throw new Error(`a block of ${cursor.at - from} bytes says that it has ${length}`);
    }
    cursor.count();
  });

const nested =
  (walk: Walk): Walk =>
  (cursor) => {
    if (++cursor.depth > MAX_DEPTH) throw new Error(`more than ${MAX_DEPTH} levels`);
    walk(cursor);
    cursor.depth--;
  };
