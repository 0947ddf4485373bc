import type { AvroField, AvroSchema, AvroType } from './avro-schema.ts';

/** Why data of one schema cannot be read by another one, and at which field (dotted; empty for the root). */
export type Incompatibility = { readonly path: string; readonly why: string };

/**
 * Why a reader of one schema cannot read all data of a writer of another one: the rules of schema resolution in the Avro
 * 1.12 specification, as registries apply them. Empty where it can.
 */
export function incompatibilities(reader: AvroSchema, writer: AvroSchema): Incompatibility[] {
  return new Resolution(namesIn(reader), namesIn(writer)).compare(reader, writer, '');
}

/** Writers' types that a reader's type takes too: numbers are widened, texts and bytes are one. */
const PROMOTIONS: Readonly<Record<string, readonly string[]>> = {
  long: ['int'],
  float: ['int', 'long'],
  double: ['int', 'long', 'float'],
  string: ['bytes'],
  bytes: ['string'],
};

type Names = ReadonlyMap<string, AvroType>;

class Resolution {
  readonly #readers: Names;
  readonly #writers: Names;
  /** Pairs of records that are being compared: a type may stand inside itself. */
  readonly #seen = new Set<string>();

  constructor(readers: Names, writers: Names) {
    this.#readers = readers;
    this.#writers = writers;
  }

  compare(readerSchema: AvroSchema, writerSchema: AvroSchema, path: string): Incompatibility[] {
    const reader = resolve(readerSchema, this.#readers);
    const writer = resolve(writerSchema, this.#writers);
    // A writer's union writes any of its branches, so that each of them must be readable.
    if (Array.isArray(writer)) return writer.flatMap((branch) => this.compare(reader, branch, path));
    if (Array.isArray(reader)) {
      const isRead = reader.some((branch) => this.compare(branch, writer, path).length === 0);
      return isRead ? [] : [fault(path, `no branch of the reader's union reads ${kindOf(writer)}`)];
    }
    const [to, from] = [kindOf(reader), kindOf(writer)];
    if (to !== from) {
      const isPromoted = PROMOTIONS[to]?.includes(from) ?? false;
      return isPromoted ? [] : [fault(path, `${from} cannot be read as ${to}`)];
    }
    if (typeof reader === 'string' || typeof writer === 'string') return [];
    if (to === 'array') return this.compare(reader.items ?? 'null', writer.items ?? 'null', `${path}[]`);
    if (to === 'map') return this.compare(reader.values ?? 'null', writer.values ?? 'null', `${path}{}`);
    if (to === 'record') return this.#compareRecords(reader, writer, path);
    if (to === 'enum') return compareEnums(reader, writer, path);
    if (to === 'fixed') return compareFixed(reader, writer, path);
    return [];
  }

  #compareRecords(reader: AvroType, writer: AvroType, path: string): Incompatibility[] {
    if (!isNamedAlike(reader, writer))
      return [fault(path, `record ${writer.name} cannot be read as record ${reader.name}`)];
    const pair = `${reader.name} ${writer.name}`;
    if (this.#seen.has(pair)) return [];
    this.#seen.add(pair);
    const faults = (reader.fields ?? []).flatMap((field) => {
      const at = path === '' ? field.name : `${path}.${field.name}`;
      const written = (writer.fields ?? []).find((one) => namesOf(field).includes(one.name));
      if (written) return this.compare(field.type, written.type, at);
      return 'default' in field ? [] : [fault(at, 'is not written, and has no default')];
    });
    this.#seen.delete(pair);
    return faults;
  }
}

function compareEnums(reader: AvroType, writer: AvroType, path: string): Incompatibility[] {
  if (!isNamedAlike(reader, writer))
    return [fault(path, `enum ${writer.name} cannot be read as enum ${reader.name}`)];
  if (reader.default !== undefined) return [];
  const unknown = (writer.symbols ?? []).filter((symbol) => !reader.symbols?.includes(symbol));
  return unknown.length > 0 ? [fault(path, `the reader does not know ${unknown.join(', ')}`)] : [];
}

function compareFixed(reader: AvroType, writer: AvroType, path: string): Incompatibility[] {
  if (!isNamedAlike(reader, writer))
    return [fault(path, `fixed ${writer.name} cannot be read as fixed ${reader.name}`)];
  return reader.size === writer.size
    ? []
    : [fault(path, `${writer.size} bytes cannot be read as ${reader.size}`)];
}

const fault = (path: string, why: string): Incompatibility => ({ path, why });

/** The unqualified name, or an alias of the reader with the writer's full name. */
function isNamedAlike(reader: AvroType, writer: AvroType): boolean {
  if (unqualified(reader.name) === unqualified(writer.name)) return true;
  const full = writer.namespace === undefined ? writer.name : `${writer.namespace}.${writer.name}`;
  const space = reader.namespace === undefined ? '' : `${reader.namespace}.`;
  return (reader.aliases ?? []).some((alias) => (alias.includes('.') ? alias : space + alias) === full);
}

const unqualified = (name = '') => name.slice(name.lastIndexOf('.') + 1);
const namesOf = ({ name, aliases = [] }: AvroField): readonly string[] => [name, ...aliases];

const kindOf = (schema: Exclude<AvroSchema, AvroSchema[]>): string =>
  typeof schema === 'string' ? schema : String(schema.type);

/** A name stands for its type; `{"type": T}` around a type stands for T, as logical types do not count. */
function resolve(schema: AvroSchema, names: Names): AvroSchema {
  if (typeof schema === 'string') return names.get(schema) ?? schema;
  if (Array.isArray(schema)) return schema;
  if (typeof schema.type !== 'string') return resolve(schema.type, names);
  return names.get(schema.type) ?? schema;
}

/** Every named type, by its short and its full name. */
function namesIn(
  schema: AvroSchema,
  namespace = '',
  names = new Map<string, AvroType>(),
): Map<string, AvroType> {
  if (typeof schema === 'string') return names;
  if (Array.isArray(schema)) {
    for (const one of schema) namesIn(one, namespace, names);
    return names;
  }
  const space = schema.namespace ?? namespace;
  if (schema.name !== undefined && ['record', 'enum', 'fixed'].includes(String(schema.type))) {
    const named = { ...schema, ...(space !== '' && { namespace: space }) };
    names.set(unqualified(schema.name), named);
    names.set(space === '' ? schema.name : `${space}.${unqualified(schema.name)}`, named);
  }
  for (const { type } of schema.fields ?? []) namesIn(type, space, names);
  for (const inner of [schema.items, schema.values]) if (inner !== undefined) namesIn(inner, space, names);
  if (typeof schema.type !== 'string') namesIn(schema.type, space, names);
  return names;
}
