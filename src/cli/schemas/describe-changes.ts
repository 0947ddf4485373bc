import {
  type AvroField,
  type AvroSchema,
  type AvroType,
  isDefinition,
  type QualifiedSchema,
  qualify,
  typeOf,
} from '../../avro/avro-schema.ts';
import { isNamedAlike, isPromoted } from '../../avro/compatibility.ts';
import { tagsOf } from '../../avro/tagged-type.ts';

/** What is different at a field (dotted; empty for the root). */
export type Change = {
  readonly path: string;
  readonly change: string;
  /** Why a reader takes a value for another one, though the registry sees no fault; null where none does. */
  readonly misread: string | null;
};

/** Every change between two schemas, whatever it means for readers. */
export const changesBetween = (from: AvroSchema, to: AvroSchema): Change[] =>
  new Changes(qualify(from), qualify(to)).all();

/** Changes that are listed of one pair of records. Records that use one another twice, thirty levels deep, would give a billion. */
const MAX_CHANGES = 100;

/** What is Hookline's own in a schema file: it changes what the values are, not their types. */
const OF_FIELDS = ['pointer'] as const;
const OF_ROOT = ['topic', 'eventTypes', 'source'] as const;

class Changes {
  readonly #before: QualifiedSchema;
  readonly #after: QualifiedSchema;
  /** Of each pair of records, with paths from the record. Empty while it is compared: types may stand inside themselves. */
  readonly #found = new Map<string, readonly Change[]>();

  constructor(before: QualifiedSchema, after: QualifiedSchema) {
    this.#before = before;
    this.#after = after;
  }

  all(): Change[] {
    const before = this.#before.schema;
    const after = this.#after.schema;
    return [...attributes(before, after, OF_ROOT), ...this.#compare(before, after, '')];
  }

  #compare(from: AvroSchema, to: AvroSchema, path: string): Change[] {
    const before = branchesOf(from).map((branch) => typeOf(branch, this.#before.types));
    const after = branchesOf(to).map((branch) => typeOf(branch, this.#after.types));
    const was = before.map(headOf).join(' or ');
    const is = after.map(headOf).join(' or ');
    const misread = misreadOf(before, after);
    const own = was === is ? [] : [{ path, change: `${was} becomes ${is}`, misread }];
    const inside = before.filter(isType).flatMap((type) => {
      const counterpart = after.filter(isType).find((one) => isCounterpart(type, one));
      return counterpart ? this.#compareInside(type, counterpart, path) : [];
    });
    return [...own, ...inside];
  }

  #compareInside(before: AvroType, after: AvroType, path: string): Change[] {
    if (before.items !== undefined) return this.#compare(before.items, after.items ?? 'null', `${path}[]`);
    if (before.values !== undefined) return this.#compare(before.values, after.values ?? 'null', `${path}{}`);
    if (before.fields === undefined) return [];
    const pair = `${before.name} ${after.name}`;
    let found = this.#found.get(pair);
    if (found === undefined) {
      this.#found.set(pair, []);
      found = this.#compareFields(before.fields, after.fields ?? []).slice(0, MAX_CHANGES);
      this.#found.set(pair, found);
    }
    return found.map((one) => ({ ...one, path: path === '' ? one.path : `${path}.${one.path}` }));
  }

  #compareFields(before: readonly AvroField[], after: readonly AvroField[]): Change[] {
    const kept = before.flatMap((field) => {
      const path = field.name;
      const now = after.find(({ name }) => name === path);
      if (!now) return [{ path, change: 'removed', misread: null }];
      const [was, is] = [field, now].map((one) => JSON.stringify(one.default) ?? 'none');
      return [
        ...this.#compare(field.type, now.type, path),
        ...(was === is ? [] : [{ path, change: `default ${was} becomes ${is}`, misread: null }]),
        ...attributes(field, now, OF_FIELDS).map((change) => ({ ...change, path })),
        ...this.#compareTags(field, now),
      ];
    });
    const added = after
      .filter(({ name }) => !before.some((field) => field.name === name))
      .flatMap(({ name, type, aliases = [] }) => {
        const old = before.find((field) => aliases.includes(field.name));
        const from = old ? `, read from ${old.name} in older records` : '';
        const own = { path: name, change: `added, ${textOf(type)}${from}`, misread: null };
        return [own, ...(old ? this.#compare(old.type, type, name) : [])];
      });
    return [...kept, ...added];
  }

  /** Those of types count for each field that has them: a type that is referred to is told at each. */
  #compareTags(before: AvroField, after: AvroField): Change[] {
    const [was, is] = [tagsOf(before, this.#before.types), tagsOf(after, this.#after.types)].map((tags) =>
      tags.length > 0 ? JSON.stringify(tags) : 'none',
    );
    if (was === is) return [];
    return [{ path: before.name, change: `confluent:tags ${was} becomes ${is}`, misread: null }];
  }
}

/** Attributes that one has and the other has not are named too. */
function attributes(before: object | string, after: object | string, names: readonly string[]): Change[] {
  const jsonOf = (of: object | string, name: string) =>
    JSON.stringify((of as Readonly<Record<string, unknown>>)[name]) ?? 'none';
  return names
    .map((name) => [name, jsonOf(before, name), jsonOf(after, name)] as const)
    .filter(([, was, is]) => was !== is)
    .map(([name, was, is]) => ({ path: '', change: `${name} ${was} becomes ${is}`, misread: null }));
}

const branchesOf = (schema: AvroSchema): readonly AvroSchema[] => (Array.isArray(schema) ? schema : [schema]);

const isType = (schema: AvroSchema): schema is AvroType =>
  typeof schema === 'object' && !Array.isArray(schema);

const isCounterpart = (before: AvroType, after: AvroType): boolean =>
  isDefinition(before) ? isDefinition(after) && isNamedAlike(after, before) : before.type === after.type;

/**
 * A logical type says what a number or bytes stand for. The rules of compatibility leave it out, and a reader takes it from
 * its own schema. Of two schemas each can be the reader's.
 */
const misreadOf = (before: readonly AvroSchema[], after: readonly AvroSchema[]): string | null =>
  firstMisread(before, after) ?? firstMisread(after, before);

function firstMisread(writers: readonly AvroSchema[], readers: readonly AvroSchema[]): string | null {
  for (const writer of writers) {
    const reader = branchFor(writer, readers);
    if (reader === undefined || !(hasMeaning(writer) || hasMeaning(reader))) continue;
    const from = meaningOf(writer);
    const to = meaningOf(reader);
    if (from === to) continue;
    if (baseOf(writer) === 'string' || baseOf(reader) === 'string') {
      if (from.startsWith(DECIMAL) || to.startsWith(DECIMAL))
        return 'the registry takes it, but the bytes of a decimal are no text';
    } else return `the registry takes it, but a ${from} is read as a ${to}`;
  }
  return null;
}

/** The one that resolution takes: of the same type, or else the first that the writer's is promoted to. */
const branchFor = (writer: AvroSchema, readers: readonly AvroSchema[]): AvroSchema | undefined =>
  readers.find((reader) =>
    isType(writer) && isType(reader) ? isCounterpart(writer, reader) : baseOf(writer) === baseOf(reader),
  ) ?? readers.find((reader) => isPromoted(baseOf(reader), baseOf(writer)));

const baseOf = (schema: AvroSchema): string => String(isType(schema) ? schema.type : schema);

const DECIMAL = 'decimal';

const hasMeaning = (schema: AvroSchema): boolean => isType(schema) && schema.logicalType !== undefined;

function meaningOf(schema: AvroSchema): string {
  if (!isType(schema) || schema.logicalType === undefined) return baseOf(schema);
  const { logicalType, precision, scale = 0 } = schema;
  return logicalType === DECIMAL ? `${DECIMAL} (precision ${precision}, scale ${scale})` : logicalType;
}

/** A type as text, without what is inside it: that has rows of its own. */
function headOf(schema: AvroSchema): string {
  if (!isType(schema)) return String(schema);
  const { type, name, symbols, size, default: fallback }: AvroType = schema;
  const last = fallback === undefined ? '' : `; default ${fallback}`;
  const sized = type === 'fixed' ? `fixed ${name} (${size} bytes)` : '';
  if (hasMeaning(schema)) return sized ? `${meaningOf(schema)} in ${sized}` : meaningOf(schema);
  if (type === 'enum') return `enum ${name} (${symbols?.join(', ')}${last})`;
  return sized || (name === undefined ? String(type) : `${type} ${name}`);
}

/** The same with the items of arrays and the values of maps. */
export function textOf(schema: AvroSchema): string {
  if (Array.isArray(schema)) return schema.map(textOf).join(' or ');
  if (!isType(schema)) return schema;
  if (schema.items !== undefined) return `array of ${textOf(schema.items)}`;
  if (schema.values !== undefined) return `map of ${textOf(schema.values)}`;
  return isType(schema.type) ? textOf(schema.type) : headOf(schema);
}
