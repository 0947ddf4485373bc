/** An Avro schema as its JSON: what the mapping reads of it. avsc checks the rest. */
export type AvroSchema = string | AvroSchema[] | AvroType;

export type AvroType = {
  readonly type: AvroSchema;
  readonly name?: string;
  readonly namespace?: string;
  readonly logicalType?: string;
  readonly fields?: readonly AvroField[];
  readonly items?: AvroSchema;
};

export type AvroField = {
  readonly name: string;
  readonly type: AvroSchema;
  readonly default?: unknown;
  /** Ours: where in the message the value stands, a JSON pointer relative to the record. */
  readonly pointer?: unknown;
};

export type NamedTypes = ReadonlyMap<string, AvroType>;

/** What is wrong with a schema, and at which field (dotted path; empty for the root). */
export class SchemaFault extends Error {
  readonly field: string;
  constructor(field: string, message: string) {
    super(message);
    this.name = 'SchemaFault';
    this.field = field;
  }
}

/** T of `["null", T]`, or null where the type is anything else. */
export function nullableOf(type: AvroSchema): AvroSchema | null {
  if (!Array.isArray(type) || type.length !== 2 || type[0] !== 'null') return null;
  return type[1] ?? null;
}

/** All record types by name, short and full, wherever in the schema they are defined. */
export function collectNames(
  schema: AvroSchema,
  namespace = '',
  names = new Map<string, AvroType>(),
): Map<string, AvroType> {
  if (typeof schema === 'string') return names;
  if (Array.isArray(schema)) {
    for (const one of schema) collectNames(one, namespace, names);
    return names;
  }
  const space = schema.namespace ?? namespace;
  if (schema.type === 'record' && schema.name !== undefined) {
    names.set(schema.name, schema);
    names.set(`${space}.${schema.name}`, schema);
    for (const field of schema.fields ?? []) collectNames(field.type, space, names);
  }
  if (schema.items !== undefined) collectNames(schema.items, space, names);
  if (typeof schema.type === 'object') collectNames(schema.type, space, names);
  return names;
}
