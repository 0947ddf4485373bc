import { parseInstant } from '../core/instant.ts';
import { parsePointer, resolvePointer } from '../core/json-pointer.ts';
import {
  type AvroField,
  type AvroSchema,
  type AvroType,
  type NamedTypes,
  nullableOf,
  SchemaFault,
} from './avro-schema.ts';

/** Told of each value that is there and doesn't fit, by the dotted path of its field. */
export type DriftSink = (field: string) => void;

/** Fills the fields that carry a pointer. Never throws, whatever JSON it is given. */
export type Mapping = (message: unknown, drift: DriftSink) => Record<string, unknown>;

/** The value as its Avro type takes it, or undefined where it doesn't fit. */
type Convert = (value: unknown, drift: DriftSink) => unknown;
type Step = { readonly name: string; readonly pointer: readonly string[]; readonly convert: Convert };

/**
 * Compiles the fields of a record that carry `pointer` (RFC 6901, relative to the record's own value).
 * A field without one is skipped: the envelope's own fields are filled by name.
 * @throws SchemaFault naming the field, where a type or a pointer can't be mapped
 */
export function compileMapping(fields: readonly AvroField[], names: NamedTypes, path = ''): Mapping {
  const steps: Step[] = [];
  for (const field of fields) {
    if (field.pointer === undefined) continue;
    const at = path === '' ? field.name : `${path}.${field.name}`;
    const pointer = typeof field.pointer === 'string' ? parsePointer(field.pointer) : null;
    if (!pointer) {
      throw new SchemaFault(
        at,
        `pointer ${JSON.stringify(field.pointer)} is no JSON pointer (RFC 6901): write /a/b`,
      );
    }
    steps.push({ name: field.name, pointer, convert: compileNullable(field.type, names, at) });
  }
  return (message, drift) => {
    const record: Record<string, unknown> = {};
    for (const { name, pointer, convert } of steps)
      record[name] = convert(resolvePointer(message, pointer), drift);
    return record;
  };
}

/** Absent and null are null; what doesn't fit is null and drift. */
function compileNullable(type: AvroSchema, names: NamedTypes, path: string): Convert {
  const inner = nullableOf(type);
  if (inner === null)
    throw new SchemaFault(path, 'a mapped value must be ["null", T] with default null: it may be absent');
  const convert = compileType(inner, names, path);
  return (value, drift) => {
    if (value === undefined || value === null) return null;
    const converted = convert(value, drift);
    if (converted !== undefined) return converted;
    drift(path);
    return null;
  };
}

function compileType(type: AvroSchema, names: NamedTypes, path: string): Convert {
  if (typeof type === 'string') return PRIMITIVES[type] ?? compileNamed(type, names, path);
  if (Array.isArray(type)) throw new SchemaFault(path, 'a union within a union can not be mapped');
  if (type.logicalType === 'timestamp-millis' && type.type === 'long') return parseInstant;
  if (type.type === 'record') return compileRecord(type, names, path);
  if (type.type === 'array') return compileArray(type.items ?? 'null', names, path);
  if (typeof type.type === 'string' && type.type in PRIMITIVES && !type.logicalType)
    return compileType(type.type, names, path);
  throw new SchemaFault(
    path,
    `type ${JSON.stringify(type.logicalType ?? type.type)} can not be mapped: use ${MAPPABLE}`,
  );
}

function compileNamed(name: string, names: NamedTypes, path: string): Convert {
  const named = names.get(name);
  if (!named)
    throw new SchemaFault(
      path,
      `type ${JSON.stringify(name)} is unknown here, stands inside itself or can not be mapped: use ${MAPPABLE}`,
    );
  return compileType(named, names, path);
}

function compileRecord(type: AvroType, names: NamedTypes, path: string): Convert {
  const fields = type.fields ?? [];
  const without = fields.find((field) => field.pointer === undefined);
  if (without) {
    throw new SchemaFault(
      `${path}.${without.name}`,
      'has no pointer: say where in the message its value stands',
    );
  }
  // A type inside itself would be walked as deep as a message cares to be: inside, its own name is unknown.
  const inside = new Map([...names].filter(([, named]) => named !== type));
  const map = compileMapping(fields, inside, path);
  return (value, drift) =>
    typeof value === 'object' && !Array.isArray(value) ? map(value, drift) : undefined;
}

function compileArray(items: AvroSchema, names: NamedTypes, path: string): Convert {
  const convert = compileNullable(items, names, `${path}[]`);
  return (value, drift) => (Array.isArray(value) ? value.map((item) => convert(item, drift)) : undefined);
}

const MAPPABLE = 'string, boolean, int, long, float, double, timestamp-millis, a record or an array';

const PRIMITIVES: Readonly<Record<string, Convert>> = {
  // Half a surrogate pair is no text: written as UTF-8 it could not be read back.
  string: (value) => (typeof value === 'string' && value.isWellFormed() ? value : undefined),
  boolean: (value) => (typeof value === 'boolean' ? value : undefined),
  int: (value) =>
    Number.isInteger(value) && (value as number) === ((value as number) | 0) ? value : undefined,
  long: (value) => (Number.isSafeInteger(value) ? value : undefined),
  float: (value) => (typeof value === 'number' && Number.isFinite(Math.fround(value)) ? value : undefined),
  double: (value) => (typeof value === 'number' ? value : undefined),
};
