import {
  type AvroField,
  type AvroSchema,
  type AvroType,
  type NamedTypes,
  qualify,
  typeOf,
} from '../../avro/avro-schema.ts';
import { tagsOf } from '../../avro/tagged-type.ts';
import { textOf as typeText } from '../../cli/schemas/describe-changes.ts';

export type Field = {
  /** Dotted; `[]` stands for the items of an array. */
  readonly name: string;
  readonly type: string;
  /** Where in the message its value stands, from the record around it; null for the envelope, which Hookline fills in. */
  readonly pointer: string | null;
  readonly tags: readonly string[];
  /** Values that did not fit, since the processes started. */
  readonly drift: number;
};

/** A record that is within itself would have fields without end. */
const MAX_DEPTH = 8;
const MAX_FIELDS = 1_000;

/** All fields of an event type, those of records inside it too. */
export function fieldsOf(schema: AvroType, driftOf: (field: string) => number): Field[] {
  const { schema: root, types } = qualify<AvroType>(schema);
  return inside(root, '', { types, driftOf, depth: 0 }).slice(0, MAX_FIELDS);
}

type Walk = {
  readonly types: NamedTypes;
  readonly driftOf: (field: string) => number;
  readonly depth: number;
};

function inside({ fields = [] }: AvroType, path: string, walk: Walk): Field[] {
  if (walk.depth > MAX_DEPTH) return [];
  return fields.flatMap((field) => {
    const name = `${path}${field.name}`;
    const { record, suffix } = recordIn(field.type, walk.types);
    const below = record ? inside(record, `${name}${suffix}.`, { ...walk, depth: walk.depth + 1 }) : [];
    return [fieldOf(field, name, walk), ...below];
  });
}

function fieldOf(field: AvroField, name: string, { driftOf, types }: Walk): Field {
  const { type, pointer } = field;
  return {
    name,
    type: typeText(type),
    drift: driftOf(name),
    pointer: typeof pointer === 'string' ? pointer : null,
    tags: tagsOf(field, types),
  };
}

/** The record that a type is or has as its items, behind a union with null. */
function recordIn(schema: AvroSchema, types: NamedTypes): { record?: AvroType; suffix: string } {
  const branches = Array.isArray(schema) ? schema : [schema];
  for (const branch of branches) {
    const type = typeOf(branch, types);
    if (typeof type !== 'object' || Array.isArray(type)) continue;
    if (type.fields) return { record: type, suffix: '' };
    if (type.items === undefined) continue;
    const { record, suffix } = recordIn(type.items, types);
    return record ? { record, suffix: `[]${suffix}` } : { suffix: '' };
  }
  return { suffix: '' };
}
