/**
 * The other way from a message to its record, by way of objects: JSON.parse, a mapping, and avsc. It is what the
 * transcoder is held against.
 */

import { type AvroType, qualify } from '../../src/avro/avro-schema.ts';
import { type FieldShape, readFieldShapes, type Shape } from '../../src/avro/event-shape.ts';
import type { DriftSink } from '../../src/avro/value-writer.ts';
import { resolvePointer } from '../../src/core/json.ts';

/** Fills the fields that carry a pointer. */
export type Mapping = (message: unknown, drift: DriftSink) => Record<string, unknown>;

/** Writes each value that does not fit into the list, by its field. */
export const listDrift =
  (list: string[]): DriftSink =>
  (field, count = 1) =>
    list.push(...Array<string>(count).fill(field));

/** The value as its Avro type takes it, or undefined where it doesn't fit. */
type Take = (value: unknown, drift: DriftSink) => unknown;

/** The mapping of a schema, by its text. */
export function mappingOf(schema: string): Mapping {
  const { schema: json, types } = qualify<AvroType>(JSON.parse(schema));
  return compileMapping(readFieldShapes(json.fields ?? [], types));
}

function compileMapping(fields: readonly FieldShape[]): Mapping {
  const steps = fields.map(({ name, pointer, path, shape }) => ({
    name,
    pointer,
    take: compileNullable(shape, path),
  }));
  return (message, drift) => {
    const record: Record<string, unknown> = {};
    for (const { name, pointer, take } of steps) record[name] = take(resolvePointer(message, pointer), drift);
    return record;
  };
}

/** Absent and null are null; what doesn't fit is null and drift. */
function compileNullable(shape: Shape, path: string): Take {
  const take = compileShape(shape);
  return (value, drift) => {
    if (value === undefined || value === null) return null;
    const taken = take(value, drift);
    if (taken !== undefined) return taken;
    drift(path);
    return null;
  };
}

function compileShape(shape: Shape): Take {
  // As JSON prints it: a text that JSON.parse has rounded is not seen here.
  if (shape.kind === 'value') return (value) => shape.convert(value, JSON.stringify(value));
  if (shape.kind === 'record') {
    const map = compileMapping(shape.fields);
    return (value, drift) =>
      typeof value === 'object' && !Array.isArray(value) ? map(value, drift) : undefined;
  }
  const take = compileItem(shape.items, shape.path);
  return (value, drift) => (Array.isArray(value) ? value.map((item) => take(item, drift)) : undefined);
}

/** A record cannot be null: what is no object becomes a record of nulls. */
function compileItem(shape: Shape, path: string): Take {
  const take = compileNullable(shape, path);
  if (shape.kind !== 'record') return take;
  const nulls = Object.fromEntries(shape.fields.map(({ name }) => [name, null]));
  return (value, drift) => {
    if (value === null) drift(path);
    return take(value, drift) ?? nulls;
  };
}
