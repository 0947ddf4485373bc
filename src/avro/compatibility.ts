import {
  type AvroField,
  type AvroSchema,
  type AvroType,
  isDefinition,
  type QualifiedSchema,
  qualify,
  shortName,
  typeOf,
} from './avro-schema.ts';

/** Why data of one schema cannot be read by another one, and at which field (dotted; empty for the root). */
export type Incompatibility = { readonly path: string; readonly why: string };

/**
 * Why a reader of one schema cannot read all data of a writer of another one: the rules of schema resolution in the Avro
 * 1.12 specification, as registries apply them. Empty where it can.
 */
export function incompatibilities(reader: AvroSchema, writer: AvroSchema): Incompatibility[] {
  return new Resolution(qualify(reader), qualify(writer)).compareAll();
}

/** Writers' types that a reader's type takes too: numbers are widened, texts and bytes are one. */
const PROMOTIONS: Readonly<Record<string, readonly string[]>> = {
  long: ['int'],
  float: ['int', 'long'],
  double: ['int', 'long', 'float'],
  string: ['bytes'],
  bytes: ['string'],
};

export const isPromoted = (reader: string, writer: string): boolean =>
  PROMOTIONS[reader]?.includes(writer) ?? false;

/** What is said of two records at most: a record that is used twice at thirty levels would be listed a billion times. */
const MAX_FAULTS = 100;

class Resolution {
  readonly #reader: QualifiedSchema;
  readonly #writer: QualifiedSchema;
  /**
   * Pairs of records, by their full names, of which the reader's cannot read the writer's. A type may stand inside itself:
   * a pair is taken for readable until it is found not to be, and then everything is compared again.
   */
  readonly #unreadable = new Set<string>();
  /** What was found of each pair this time, with paths from the record. */
  readonly #found = new Map<string, readonly Incompatibility[]>();

  constructor(reader: QualifiedSchema, writer: QualifiedSchema) {
    this.#reader = reader;
    this.#writer = writer;
  }

  compareAll(): Incompatibility[] {
    for (;;) {
      const known = this.#unreadable.size;
      this.#found.clear();
      const faults = this.#compare(this.#reader.schema, this.#writer.schema, '');
      if (this.#unreadable.size === known) return faults;
    }
  }

  #compare(readerSchema: AvroSchema, writerSchema: AvroSchema, path: string): Incompatibility[] {
    const reader = typeOf(readerSchema, this.#reader.types);
    const writer = typeOf(writerSchema, this.#writer.types);
    // A writer's union writes any of its branches, so that each of them must be readable.
    if (Array.isArray(writer)) return writer.flatMap((branch) => this.#compare(reader, branch, path));
    if (Array.isArray(reader)) return this.#compareUnion(reader, writer, path);
    const [to, from] = [kindOf(reader), kindOf(writer)];
    if (to !== from) return isPromoted(to, from) ? [] : [fault(path, `${from} cannot be read as ${to}`)];
    if (typeof reader === 'string' || typeof writer === 'string') return [];
    if (to === 'array') return this.#compare(reader.items ?? 'null', writer.items ?? 'null', `${path}[]`);
    if (to === 'map') return this.#compare(reader.values ?? 'null', writer.values ?? 'null', `${path}{}`);
    if (isDefinition(reader) && !isNamedAlike(reader, writer))
      return [fault(path, `${to} ${writer.name} cannot be read as ${to} ${reader.name}`)];
    if (to === 'record') return this.#compareRecords(reader, writer, path);
    if (to === 'enum') return compareEnums(reader, writer, path);
    if (to === 'fixed' && reader.size !== writer.size)
      return [fault(path, `${writer.size} bytes cannot be read as ${reader.size}`)];
    return [];
  }

  /** Any branch may do. Where none does, the only one of that kind says at which field. */
  #compareUnion(
    reader: readonly AvroSchema[],
    writer: Exclude<AvroSchema, AvroSchema[]>,
    path: string,
  ): Incompatibility[] {
    const findings = reader.map((branch) => this.#compare(branch, writer, path));
    if (findings.some((faults) => faults.length === 0)) return [];
    const alike = reader
      .map((branch) => typeOf(branch, this.#reader.types))
      .flatMap((branch, n) => (isSameType(branch, writer) ? [findings[n] ?? []] : []));
    if (alike.length === 1) return alike[0] ?? [];
    return [fault(path, `no branch of the reader's union reads ${kindOf(writer)}`)];
  }

  #compareRecords(reader: AvroType, writer: AvroType, path: string): Incompatibility[] {
    const pair = `${reader.name} ${writer.name}`;
    let found = this.#found.get(pair);
    if (found === undefined) {
      const inside = [fault('', `record ${writer.name}, inside itself, cannot be read`)];
      this.#found.set(pair, this.#unreadable.has(pair) ? inside : []);
      found = this.#compareFields(reader.fields ?? [], writer.fields ?? []).slice(0, MAX_FAULTS);
      this.#found.set(pair, found);
      if (found.length > 0) this.#unreadable.add(pair);
    }
    return found.map(({ path: inner, why }) =>
      fault(path && inner ? `${path}.${inner}` : path || inner, why),
    );
  }

  #compareFields(readers: readonly AvroField[], writers: readonly AvroField[]): Incompatibility[] {
    return readers.flatMap((field) => {
      const at = field.name;
      const [written, ...more] = [field.name, ...(field.aliases ?? [])].flatMap((name) =>
        writers.filter((one) => one.name === name),
      );
      // Registries refuse such a schema, as nobody can tell which field is meant.
      if (more.length > 0) return [fault(at, 'its name and its aliases are those of several written fields')];
      if (written) return this.#compare(field.type, written.type, at);
      return 'default' in field ? [] : [fault(at, 'is not written, and has no default')];
    });
  }
}

function compareEnums(reader: AvroType, writer: AvroType, path: string): Incompatibility[] {
  if (reader.default !== undefined) return [];
  const unknown = (writer.symbols ?? []).filter((symbol) => !reader.symbols?.includes(symbol));
  return unknown.length > 0 ? [fault(path, `the reader does not know ${unknown.join(', ')}`)] : [];
}

const fault = (path: string, why: string): Incompatibility => ({ path, why });

/** The name without its namespace, or an alias of the reader with the writer's full name. */
export const isNamedAlike = (reader: AvroType, writer: AvroType): boolean =>
  shortName(reader.name) === shortName(writer.name) || (reader.aliases ?? []).includes(writer.name ?? '');

function isSameType(reader: AvroSchema, writer: AvroSchema): boolean {
  if (Array.isArray(reader) || Array.isArray(writer) || kindOf(reader) !== kindOf(writer)) return false;
  if (typeof reader === 'string' || typeof writer === 'string') return true;
  return !isDefinition(reader) || isNamedAlike(reader, writer);
}

/** An error, as Avro's protocols have them, is a record. */
function kindOf(schema: Exclude<AvroSchema, AvroSchema[]>): string {
  const kind = typeof schema === 'string' ? schema : String(schema.type);
  return kind === 'error' ? 'record' : kind;
}
