/**
 * What a reader must find in a record: made from the message that was sent and the schema file alone. It shares no code with
 * Hookline's own mapping.
 */

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

export type Schema = string | Schema[] | { type: Schema; name?: string; fields?: Field[]; items?: Schema };
type Field = { name: string; type: Schema; pointer?: string };
export type RecordSchema = { type: 'record'; fields: Field[] } & Record<string, unknown>;

type Fields = { [name: string]: Json };

/** The fields of a schema that have a pointer, as they stand in a message. */
export function typedFields(schema: RecordSchema, message: Json): Fields {
  return Object.fromEntries(
    schema.fields
      .filter(({ pointer }) => pointer !== undefined)
      .map(({ name, type, pointer = '' }) => [name, typedValue(new Names().of(type), at(message, pointer))]),
  );
}

/** Records by name: a schema names one again instead of repeating it. */
class Names {
  readonly #known = new Map<string, Schema>();

  /** The schema with each name replaced by what it stands for. */
  of(schema: Schema): Schema {
    if (typeof schema === 'string') return this.#known.get(schema) ?? schema;
    if (Array.isArray(schema)) return schema.map((one) => this.of(one));
    if (schema.type === 'array') return { ...schema, items: this.of(schema.items ?? 'null') };
    if (schema.type !== 'record') return schema;
    const fields = schema.fields?.map((field) => ({ ...field, type: this.of(field.type) }));
    const whole = { ...schema, fields: fields ?? [] };
    this.#known.set(String(schema.name), whole);
    return whole;
  }
}

/** A value where its type takes it; else null, and in a record that cannot be null a null in each field. */
function typedValue(type: Schema, value: Json | undefined): Json {
  if (Array.isArray(type))
    return fits(type[1] ?? 'null', value) ? typedValue(type[1] ?? 'null', value) : null;
  if (typeof type === 'string') return value ?? null;
  if (type.type === 'array') return (value as Json[]).map((item) => typedValue(type.items ?? 'null', item));
  const fields = type.fields ?? [];
  return Object.fromEntries(
    fields.map((field) => [field.name, typedValue(field.type, at(value, field.pointer))]),
  );
}

function fits(type: Schema, value: Json | undefined): boolean {
  if (type === 'string') return typeof value === 'string';
  const kind = (type as { type: Schema }).type;
  return kind === 'array' ? Array.isArray(value) : isObject(value);
}

const isObject = (value: Json | undefined): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The value that a pointer of plain names leads to. */
const at = (value: Json | undefined, pointer = ''): Json | undefined =>
  pointer
    .split('/')
    .slice(1)
    .reduce<Json | undefined>((inner, name) => (isObject(inner) ? inner[name] : undefined), value);
