import type { AvroField, AvroSchema, AvroType } from '../../src/avro/avro-schema.ts';

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

const SPACES = ['a', 'b', 'a.c'] as const;

/** Where a type is made: what encloses it, and what it may refer to. */
type Place = {
  readonly random: Random;
  readonly depth: number;
  readonly space: string;
  /** Full names of the types that are defined so far, also of those that enclose the place: types may be recursive. */
  readonly defined: Set<string>;
};

const spaceOf = (full: string) => full.slice(0, Math.max(0, full.lastIndexOf('.')));
const shortOf = (full: string) => full.slice(full.lastIndexOf('.') + 1);
const join = (space: string, short: string) => (space === '' ? short : `${space}.${short}`);

/**
 * Different namespaces have types of one short name, but those without a namespace have names of their own: inside a namespace Java's
 * parser takes a short name for such a type, if it is defined by then, although the enclosing type has that name.
 */
function nameAt({ random, space: outer, defined }: Place): { named: object; space: string } {
  const space = random() < 0.6 ? outer : pick(random, SPACES);
  const letter = space === '' ? 'N' : 'T';
  let n = Math.floor(random() * 3);
  while (defined.has(join(space, `${letter}${n}`))) n++;
  const short = `${letter}${n}`;
  defined.add(join(space, short));
  const inOther = random() < 0.5 ? { name: join(space, short) } : { name: short, namespace: space };
  const aliases = random() < 0.2 && { aliases: [pick(random, ['Old', 'a.Old', 'b.Old'])] };
  return { named: { ...(space === outer ? { name: short } : inOther), ...aliases }, space };
}

function reference({ random, space, defined }: Place): string {
  // From inside a namespace, Java's parser does not find an enclosing type that has none.
  const known = [...defined].filter((full) => spaceOf(full) === space || spaceOf(full) !== '');
  const full = pick(random, known);
  return spaceOf(full) === space && random() < 0.6 ? shortOf(full) : full;
}

function randomType(at: Place): AvroSchema {
  const { random, depth } = at;
  const inside = { ...at, depth: depth + 1 };
  const kind = Math.floor(random() * (depth > 2 ? 8 : 17));
  if (kind < 8) return PRIMITIVES[kind] as AvroSchema;
  if (kind === 8) return { type: 'array', items: randomType(inside) };
  if (kind === 9) return { type: 'map', values: randomType(inside) };
  if (kind === 10)
    return {
      type: 'enum',
      ...nameAt(at).named,
      symbols: ['A', 'B', 'C'].slice(0, 1 + Math.floor(random() * 3)),
      ...(random() < 0.3 && { default: 'A' }),
    };
  if (kind === 11) return { type: 'fixed', ...nameAt(at).named, size: 1 + Math.floor(random() * 3) };
  if (kind === 12) return recordAt(inside);
  if (kind === 13) return reference(at);
  if (kind === 14) return ['null', reference(at)];
  if (kind === 15) return ['null', recordAt(inside)];
  // A union holds no two of a kind.
  return ['null', pick(random, ['int', 'long', 'string', 'double'])];
}

function randomField(at: Place): AvroField {
  const type = randomType(at);
  const field = { name: `f${Math.floor(at.random() * 6)}`, type };
  return at.random() < 0.5 ? field : withDefault(field);
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

function recordAt(at: Place): AvroSchema {
  const { named, space } = nameAt(at);
  const type = at.random() < 0.1 ? 'error' : 'record';
  return { type, ...named, fields: fieldsAt({ ...at, space }) };
}

function fieldsAt(at: Place): AvroField[] {
  const fields = new Map<string, AvroField>();
  for (let count = 1 + Math.floor(at.random() * 4); count > 0; count--) {
    // A field that is replaced would take the definitions inside it away from those that refer to them.
    const field = randomField(at);
    fields.set(fields.has(field.name) ? `${field.name}${fields.size}` : field.name, field);
  }
  return [...fields].map(([name, field]) => ({ ...field, name }));
}

export function randomRecord(random: Random): AvroSchema {
  const space = pick(random, ['', 'a', 'b']);
  const at: Place = { random, depth: 0, space, defined: new Set([join(space, 'Root')]) };
  return { type: 'record', name: 'Root', ...(space !== '' && { namespace: space }), fields: fieldsAt(at) };
}

/** The schema after one change, somewhere in it, of a kind that people make. It may be no valid one. */
export function changed(random: Random, schema: AvroSchema): AvroSchema {
  if (typeof schema === 'string') return changedName(random, schema);
  if (Array.isArray(schema)) {
    const kind = random();
    if (kind < 0.3) return schema[1] ?? 'null';
    if (kind < 0.5) return schema.toReversed();
    if (kind < 0.7) return schema.map((branch) => (branch === 'null' ? branch : changed(random, branch)));
    return ['null', pick(random, ['bytes', 'boolean', 'float'])];
  }
  if (schema.type === 'array' && schema.items) return { ...schema, items: changed(random, schema.items) };
  if (schema.type === 'map' && schema.values) return { ...schema, values: changed(random, schema.values) };
  if (schema.name !== 'Root' && random() < 0.2) return renamed(random, schema);
  if (schema.type === 'enum') return { ...schema, symbols: pick(random, SYMBOLS) };
  if (schema.type === 'fixed') return { ...schema, size: (schema.size ?? 1) + 1 };
  return changedRecord(random, schema);
}

const SYMBOLS = [['A'], ['A', 'B'], ['A', 'B', 'C', 'D'], ['A', 'C', 'B']];

/** A primitive type, or a name: short ones become those of a namespace, full ones short. */
function changedName(random: Random, name: string): string {
  if (!(name in DEFAULTS) && random() < 0.7)
    return name.includes('.') ? shortOf(name) : join(pick(random, SPACES), name);
  return pick(
    random,
    PRIMITIVES.filter((one) => one !== name),
  );
}

/** Another name, with or without an alias that is right or wrong; or another namespace. */
function renamed(random: Random, schema: AvroType): AvroType {
  const { name = '' } = schema;
  const short = shortOf(name);
  if (random() < 0.4) return { ...schema, name: short, namespace: pick(random, SPACES) };
  const alias = pick(random, [undefined, short, name, `a.${short}`, `b.${short}`]);
  const { aliases: _, ...bare } = schema;
  return { ...bare, name: `${name}x`, ...(alias !== undefined && { aliases: [alias] }) };
}

function changedRecord(random: Random, schema: AvroType): AvroType {
  const { fields = [] } = schema;
  const at = Math.floor(random() * fields.length);
  const field = fields[at];
  const kind = random();
  const added = (one: AvroField) => ({ ...schema, fields: [...fields, { ...one, name: 'added' }] });
  if (kind < 0.06 || !field) return added({ name: '', type: pick(random, PRIMITIVES) });
  if (kind < 0.1) return added({ name: '', type: schema.name ?? 'null' });
  if (kind < 0.2) return added(withDefault({ name: '', type: pick(random, PRIMITIVES) }));
  if (kind < 0.28 && fields.length > 1) return { ...schema, fields: fields.filter((_, n) => n !== at) };
  if (kind < 0.34) return { ...schema, fields: fields.toReversed() };
  if (kind < 0.4) return { ...schema, type: schema.type === 'error' ? 'record' : 'error' };
  if (kind < 0.5)
    return {
      ...schema,
      fields: fields.with(at, { ...field, name: `${field.name}x`, aliases: [field.name] }),
    };
  // A default of another type would be no schema.
  const { default: _, ...bare } = field;
  return { ...schema, fields: fields.with(at, { ...bare, type: changed(random, field.type) }) };
}
