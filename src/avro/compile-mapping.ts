import { resolvePointer } from '../core/json-pointer.ts';
import type { FieldShape, Shape } from './event-shape.ts';

/** Told of each value that is there and doesn't fit, by the dotted path of its field. */
export type DriftSink = (field: string) => void;

/** Fills the fields that carry a pointer. Never throws, whatever JSON it is given. */
export type Mapping = (message: unknown, drift: DriftSink) => Record<string, unknown>;

/** The value as its Avro type takes it, or undefined where it doesn't fit. */
type Take = (value: unknown, drift: DriftSink) => unknown;

/** Compiles fields to a function from a parsed message to the record that avsc writes. */
export function compileMapping(fields: readonly FieldShape[]): Mapping {
  const steps = fields.map(({ name, pointer, path, shape }) => ({
    ...{ name, pointer },
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
  if (shape.kind === 'value') return shape.convert;
  if (shape.kind === 'record') {
    const map = compileMapping(shape.fields);
    return (value, drift) =>
      typeof value === 'object' && !Array.isArray(value) ? map(value, drift) : undefined;
  }
  const take = compileNullable(shape.items, shape.path);
  return (value, drift) => (Array.isArray(value) ? value.map((item) => take(item, drift)) : undefined);
}
