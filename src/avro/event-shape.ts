import { parsePointer } from '../core/json.ts';
import {
  type AvroField,
  type AvroSchema,
  type AvroType,
  type NamedTypes,
  typesInside,
} from './avro-schema.ts';
import { CONVERSIONS, type Convert, EXACT_CONVERSIONS, type ValueType } from './conversions.ts';
import { SchemaFault } from './schema-files.ts';

/** What a JSON value becomes: the part of an Avro schema that a message fills. */
export type Shape =
  | { readonly kind: 'value'; readonly type: ValueType; readonly convert: Convert }
  | { readonly kind: 'record'; readonly fields: readonly FieldShape[] }
  | { readonly kind: 'array'; readonly items: Shape; readonly path: string };

export type FieldShape = {
  readonly name: string;
  /** Steps from the record's own value to the field's. */
  readonly pointer: readonly string[];
  /** Dotted, from the message's record; the name of the field in the drift metric. */
  readonly path: string;
  readonly shape: Shape;
};

/**
 * Reads the fields of a record that carry `pointer` (RFC 6901, relative to the record's own value).
 * A field without one is skipped: the envelope's own fields are filled by name.
 * @param fields of a qualified schema
 * @param names what its names stand for
 * @throws SchemaFault naming the field, where a type or a pointer can't be mapped
 */
export function readFieldShapes(fields: readonly AvroField[], names: NamedTypes, path = ''): FieldShape[] {
  const shapes: FieldShape[] = [];
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
    shapes.push({ name: field.name, pointer, path: at, shape: readNullable(field.type, names, at) });
  }
  return shapes;
}

/** The same fields, for messages that are kept nowhere: a value that its type would round doesn't fit. */
export const withoutRounding = (fields: readonly FieldShape[]): FieldShape[] =>
  fields.map((field) => ({ ...field, shape: exactShape(field.shape) }));

function exactShape(shape: Shape): Shape {
  if (shape.kind === 'value') return { ...shape, convert: EXACT_CONVERSIONS[shape.type] };
  if (shape.kind === 'record') return { ...shape, fields: withoutRounding(shape.fields) };
  return { ...shape, items: exactShape(shape.items) };
}

/** Every mapped value may be absent, and is null then. */
function readNullable(type: AvroSchema, names: NamedTypes, path: string): Shape {
  const inner = nullableOf(type);
  if (inner === null)
    throw new SchemaFault(path, 'a mapped value must be ["null", T] with default null: it may be absent');
  return readType(inner, names, path);
}

/**
 * An array's items. Records among them cannot be null: catalogues and sinks refuse nullable records in an array. Values and
 * arrays are nullable, as nothing else could stand for an item that doesn't fit.
 */
function readItems(type: AvroSchema, names: NamedTypes, path: string): Shape {
  const inner = nullableOf(type);
  const items = inner === null ? readType(type, names, path) : readType(inner, names, path);
  if ((inner === null) === (items.kind === 'record')) return items;
  throw new SchemaFault(
    path,
    inner === null
      ? 'items of an array that are no records must be ["null", T]: an item may not fit'
      : 'items of an array that are records cannot be null: write the record without the union',
  );
}

function readType(type: AvroSchema, names: NamedTypes, path: string): Shape {
  if (typeof type === 'string') return readNamed(type, names, path);
  if (Array.isArray(type)) throw new SchemaFault(path, 'a union within a union cannot be mapped');
  if (type.logicalType === 'timestamp-millis' && type.type === 'long') return valueShape('timestamp-millis');
  if (type.type === 'record') return readRecord(type, names, path);
  if (type.type === 'array') {
    const at = `${path}[]`;
    return { kind: 'array', items: readItems(type.items ?? 'null', names, at), path: at };
  }
  if (typeof type.type === 'string' && isPrimitive(type.type) && !type.logicalType)
    return valueShape(type.type);
  throw new SchemaFault(
    path,
    `type ${JSON.stringify(type.logicalType ?? type.type)} cannot be mapped: use ${MAPPABLE}`,
  );
}

function readNamed(name: string, names: NamedTypes, path: string): Shape {
  if (isPrimitive(name)) return valueShape(name);
  const named = names.get(name);
  if (!named)
    throw new SchemaFault(
      path,
      `type ${JSON.stringify(name)} is unknown here, stands inside itself or cannot be mapped: use ${MAPPABLE}`,
    );
  return readType(named, names, path);
}

function readRecord(type: AvroType, names: NamedTypes, path: string): Shape {
  const fields = type.fields ?? [];
  const without = fields.find((field) => field.pointer === undefined);
  if (without) {
    throw new SchemaFault(
      `${path}.${without.name}`,
      'has no pointer: say where in the message its value stands',
    );
  }
  // A type inside itself would be walked as deep as a message cares to be: inside, its own name is unknown.
  return { kind: 'record', fields: readFieldShapes(fields, typesInside(type, names), path) };
}

const MAPPABLE = 'string, boolean, int, long, float, double, timestamp-millis, a record or an array';

const isPrimitive = (name: string): name is Exclude<ValueType, 'timestamp-millis'> =>
  name !== 'timestamp-millis' && Object.hasOwn(CONVERSIONS, name);

const valueShape = (type: ValueType): Shape => ({ kind: 'value', type, convert: CONVERSIONS[type] });

/** T of `["null", T]`, or null where the type is anything else. */
function nullableOf(type: AvroSchema): AvroSchema | null {
  if (!Array.isArray(type) || type.length !== 2 || type[0] !== 'null') return null;
  return type[1] ?? null;
}
