/** An Avro schema as its JSON: what Hookline reads of it. avsc checks the rest. */
export type AvroSchema = string | AvroSchema[] | AvroType;

export type AvroType = {
  readonly type: AvroSchema;
  readonly name?: string;
  readonly namespace?: string;
  readonly logicalType?: string;
  readonly precision?: number;
  readonly scale?: number;
  readonly fields?: readonly AvroField[];
  readonly items?: AvroSchema;
  readonly values?: AvroSchema;
  readonly symbols?: readonly string[];
  readonly size?: number;
  readonly default?: unknown;
  readonly aliases?: readonly string[];
  /** Confluent's: what is sensitive about every value of the type. */
  readonly 'confluent:tags'?: unknown;
};

export type AvroField = {
  readonly name: string;
  readonly type: AvroSchema;
  readonly default?: unknown;
  readonly aliases?: readonly string[];
  /** Ours: where in the message the value stands, a JSON pointer relative to the record. */
  readonly pointer?: unknown;
  /** Confluent's: what is sensitive about it. */
  readonly 'confluent:tags'?: unknown;
};

/** Records, enums and fixed types by their full names. */
export type NamedTypes = ReadonlyMap<string, AvroType>;

/** A schema in which every name is a full name: a name means the same wherever it stands. */
export type QualifiedSchema<S = AvroSchema> = {
  readonly schema: S;
  /** Every type that the schema defines: parts of `schema` itself. */
  readonly types: NamedTypes;
};

const NAMED = new Set<unknown>(['record', 'error', 'enum', 'fixed']);
const PRIMITIVES = new Set(['null', 'boolean', 'int', 'long', 'float', 'double', 'bytes', 'string']);

/**
 * Writes full names in place of short ones, by the rules of the Avro 1.12 specification ("Names"): a name without a dot
 * belongs to the enclosing namespace; a name with a dot carries its namespace, which the types inside inherit, and any
 * attribute `namespace` beside it is ignored.
 */
export function qualify<S extends AvroSchema>(schema: S): QualifiedSchema<S> {
  const types = new Map<string, AvroType>();
  const defined = new Set<string>();

  const refer = (name: string, space: string): string => {
    if (PRIMITIVES.has(name) || name.includes('.')) return name;
    const full = fullName(name, space);
    // As Java's parser does, which registries use: a type without a namespace can be meant too.
    return !defined.has(full) && defined.has(name) ? name : full;
  };

  const define = (type: AvroType, outer: string): AvroType => {
    const { name: given, namespace = outer, ...own } = type;
    const name = given === undefined ? undefined : fullName(given, namespace);
    const space = name === undefined ? outer : name.slice(0, Math.max(0, name.lastIndexOf('.')));
    // Before what is inside: a type may refer to itself.
    if (name !== undefined) defined.add(name);
    const aliases = type.aliases?.map((alias) => fullName(alias, space));
    const fields = type.fields?.map((field) => ({ ...field, type: within(field.type, space) }));
    const named = name === undefined ? {} : { name };
    const qualified = { ...own, ...named, ...(aliases && { aliases }), ...(fields && { fields }) };
    if (name !== undefined) types.set(name, qualified);
    return qualified;
  };

  const within = (inner: AvroSchema, space: string): AvroSchema => {
    if (typeof inner === 'string') return refer(inner, space);
    if (Array.isArray(inner)) return inner.map((branch) => within(branch, space));
    if (isDefinition(inner)) return define(inner, space);
    const { items, values } = inner;
    const type = CONTAINERS.has(inner.type) ? inner.type : within(inner.type, space);
    return {
      ...inner,
      type,
      ...(items !== undefined && { items: within(items, space) }),
      ...(values !== undefined && { values: within(values, space) }),
    };
  };

  return { schema: within(schema, '') as S, types };
}

const CONTAINERS = new Set<unknown>(['array', 'map']);

/** Whether it defines a type that has a name. */
export const isDefinition = ({ type }: AvroType): boolean => NAMED.has(type);

const fullName = (name: string, space: string): string =>
  name.includes('.') || space === '' ? name : `${space}.${name}`;

/** The part behind the namespace. */
export const shortName = (name = ''): string => name.slice(name.lastIndexOf('.') + 1);

/** The type that a name stands for; `{"type": T}` around a type stands for T, where T has a definition. */
export function typeOf(schema: AvroSchema, types: NamedTypes): AvroSchema {
  if (typeof schema === 'string') return types.get(schema) ?? schema;
  if (Array.isArray(schema) || isDefinition(schema)) return schema;
  return typeof schema.type === 'string' ? (types.get(schema.type) ?? schema) : typeOf(schema.type, types);
}

/** The types that may stand inside this one where none may stand inside itself. */
export const typesInside = (type: AvroType, types: NamedTypes): NamedTypes =>
  new Map([...types].filter(([, one]) => one !== type));

/** The paths (dotted) of fields that can be null and have no default; of a type that is referred to, where it is defined. */
export function fieldsWithoutDefault(schema: AvroSchema, path = ''): string[] {
  if (typeof schema === 'string') return [];
  if (Array.isArray(schema)) return schema.flatMap((branch) => fieldsWithoutDefault(branch, path));
  const { items = [], values = [], fields = [], type } = schema;
  const inside = [typeof type === 'string' ? [] : type, items, values];
  return [
    ...inside.flatMap((one) => fieldsWithoutDefault(one, path)),
    ...fields.flatMap((field) => {
      const at = path === '' ? field.name : `${path}.${field.name}`;
      const isLasting = Array.isArray(field.type) && field.type.includes('null') && !('default' in field);
      return [...(isLasting ? [at] : []), ...fieldsWithoutDefault(field.type, at)];
    }),
  ];
}
