import type { AvroField, AvroSchema } from '../../src/avro/avro-schema.ts';

/** A repeatable source of chance: mulberry32. */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

type Random = () => number;
const pick = <T>(random: Random, from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;

const PRIMITIVES = ['null', 'boolean', 'int', 'long', 'float', 'double', 'bytes', 'string'] as const;
const DEFAULTS: Readonly<Record<string, unknown>> = {
  null: null,
  boolean: true,
  int: 1,
  long: 2,
  float: 1.5,
  double: 2.5,
  bytes: '',
  string: 'x',
};

let names = 0;

function randomType(random: Random, depth: number): AvroSchema {
  const kind = Math.floor(random() * (depth > 2 ? 8 : 14));
  if (kind < 8) return PRIMITIVES[kind] as AvroSchema;
  if (kind === 8) return { type: 'array', items: randomType(random, depth + 1) };
  if (kind === 9) return { type: 'map', values: randomType(random, depth + 1) };
  if (kind === 10)
    return {
      type: 'enum',
      name: `E${names++}`,
      symbols: ['A', 'B', 'C'].slice(0, 1 + Math.floor(random() * 3)),
    };
  if (kind === 11) return { type: 'fixed', name: `F${names++}`, size: 1 + Math.floor(random() * 3) };
  if (kind === 12) return randomRecord(random, depth + 1, `R${names++}`);
  // A union holds no two of a kind.
  return ['null', pick(random, ['int', 'long', 'string', 'double'])];
}

function randomField(random: Random, depth: number): AvroField {
  const type = randomType(random, depth);
  const field = { name: `f${Math.floor(random() * 6)}`, type };
  return random() < 0.5 ? field : withDefault(field);
}

/** A default that fits, where one is easily found. */
function withDefault(field: AvroField): AvroField {
  const { type } = field;
  if (typeof type === 'string' && type in DEFAULTS) return { ...field, default: DEFAULTS[type] };
  if (Array.isArray(type)) return { ...field, default: null };
  if (typeof type === 'object' && type.type === 'array') return { ...field, default: [] };
  if (typeof type === 'object' && type.type === 'map') return { ...field, default: {} };
  return field;
}

export function randomRecord(random: Random, depth = 0, name = 'Root'): AvroSchema {
  const count = 1 + Math.floor(random() * 4);
  const fields = Array.from({ length: count }, () => randomField(random, depth));
  return { type: 'record', name, fields: [...new Map(fields.map((field) => [field.name, field])).values()] };
}

/** The schema after one change, somewhere in it, of a kind that people make. */
export function changed(random: Random, schema: AvroSchema): AvroSchema {
  if (typeof schema === 'string')
    return pick(
      random,
      PRIMITIVES.filter((one) => one !== schema),
    );
  if (Array.isArray(schema))
    return random() < 0.5 ? (schema[1] ?? 'null') : ['null', pick(random, ['bytes', 'boolean', 'float'])];
  if (schema.type === 'array' && schema.items) return { ...schema, items: changed(random, schema.items) };
  if (schema.type === 'map' && schema.values) return { ...schema, values: changed(random, schema.values) };
  if (schema.type === 'enum') {
    const kind = random();
    if (kind < 0.3) return { ...schema, name: `${schema.name}x` };
    return { ...schema, symbols: kind < 0.6 ? [...(schema.symbols ?? []), 'D'] : ['A'] };
  }
  if (schema.type === 'fixed')
    return random() < 0.5
      ? { ...schema, size: (schema.size ?? 1) + 1 }
      : { ...schema, name: `${schema.name}x` };
  const { fields = [] } = schema;
  const at = Math.floor(random() * fields.length);
  const field = fields[at];
  const kind = random();
  if (kind < 0.15 || !field)
    return { ...schema, fields: [...fields, { ...randomField(random, 2), name: 'added' }] };
  if (kind < 0.3)
    return { ...schema, fields: [...fields, withDefault({ name: 'added', type: pick(random, PRIMITIVES) })] };
  if (kind < 0.42 && fields.length > 1) return { ...schema, fields: fields.filter((_, n) => n !== at) };
  if (kind < 0.5)
    return {
      ...schema,
      fields: fields.with(at, { ...field, name: `${field.name}x`, aliases: [field.name] }),
    };
  if (kind < 0.55 && schema.name !== 'Root') return { ...schema, name: `${schema.name}x` };
  // A default of another type would be no schema.
  const { default: _, ...bare } = field;
  return { ...schema, fields: fields.with(at, { ...bare, type: changed(random, field.type) }) };
}
