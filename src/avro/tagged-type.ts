import {
  type AvroField,
  type AvroSchema,
  type AvroType,
  type NamedTypes,
  typesInside,
} from './avro-schema.ts';
import { SchemaFault } from './schema-files.ts';

/** What a value is by a schema, and what is sensitive in it: the one type, or the branches of a union. null is no branch. */
export type TaggedType = readonly TaggedBranch[];

/** `tags` are the `confluent:tags` of the field and of its type. */
export type TaggedBranch = { readonly tags: readonly string[] } & (
  | { readonly kind: 'record'; readonly fields: ReadonlyMap<string, TaggedType> }
  | { readonly kind: 'array'; readonly items: TaggedType }
  | { readonly kind: 'map'; readonly values: TaggedType }
  | { readonly kind: 'scalar' }
);

/**
 * Reads `confluent:tags` of fields and of types, at any depth. Those of a type count for each field that has it.
 * @param schema a qualified one
 * @param types what its names stand for
 * @param tags of the field that has this type
 * @throws SchemaFault naming the field whose tags are no list of texts
 */
export function readTaggedType(
  schema: AvroSchema,
  types: NamedTypes,
  path = '',
  tags: readonly string[] = [],
): TaggedType {
  if (schema === 'null') return [];
  if (Array.isArray(schema)) return schema.flatMap((branch) => readTaggedType(branch, types, path, tags));
  if (typeof schema === 'string') {
    const named = types.get(schema);
    return named ? readTaggedType(named, types, path, tags) : [{ kind: 'scalar', tags }];
  }
  const { type, items = 'null', values = 'null' } = schema;
  const all = [...tags, ...readTags(schema, path)];
  if (type === 'array')
    return [{ kind: 'array', tags: all, items: readTaggedType(items, types, `${path}[]`) }];
  if (type === 'map') return [{ kind: 'map', tags: all, values: readTaggedType(values, types, `${path}{}`) }];
  if (schema.fields) return [{ kind: 'record', tags: all, fields: readFields(schema, types, path) }];
  return readTaggedType(type, types, path, all);
}

function readFields(record: AvroType, types: NamedTypes, path: string): ReadonlyMap<string, TaggedType> {
  const inside = typesInside(record, types);
  return new Map(
    record.fields?.map((field) => {
      const at = path === '' ? field.name : `${path}.${field.name}`;
      return [field.name, readTaggedType(field.type, inside, at, readTags(field, at))];
    }),
  );
}

function readTags({ 'confluent:tags': tags }: Tagged, path: string): readonly string[] {
  if (tags === undefined) return [];
  if (Array.isArray(tags) && tags.length > 0 && tags.every((tag) => typeof tag === 'string')) return tags;
  throw new SchemaFault(path, 'confluent:tags must be a list of texts, such as ["PII"]');
}

/**
 * The tags of a field: its own and those of its types, of the items of arrays and the values of maps too. What is inside a
 * record has its own.
 * @param types what the names in the field's type stand for
 */
export const tagsOf = (field: AvroField, types: NamedTypes): string[] => [
  ...new Set([...textsOf(field), ...tagsOfType(field.type, types)]),
];

function tagsOfType(schema: AvroSchema, types: NamedTypes): readonly string[] {
  if (Array.isArray(schema)) return schema.flatMap((branch) => tagsOfType(branch, types));
  if (typeof schema === 'string') return textsOf(types.get(schema) ?? {});
  const { type, items = 'null', values = 'null', fields } = schema;
  if (fields) return textsOf(schema);
  const inner = type === 'array' ? items : type === 'map' ? values : type;
  return [...textsOf(schema), ...tagsOfType(inner, types)];
}

const textsOf = ({ 'confluent:tags': tags }: Tagged): readonly string[] =>
  Array.isArray(tags) ? tags.map(String) : [];

type Tagged = { readonly 'confluent:tags'?: unknown };
