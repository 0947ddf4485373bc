import { readFileSync } from 'node:fs';
import type { AvroSchema, AvroType } from '../../avro/avro-schema.ts';
import { type Incompatibility, incompatibilities } from '../../avro/compatibility.ts';
import { subjectOf, topicName } from '../../core/names.ts';
import { connectRegistry, loadConfig } from '../shell/connections.ts';
import { printRows } from '../shell/print-rows.ts';
import { allSchemas } from '../shell/schemas-and-topics.ts';
import { type ExitCode, type Shell, UsageError } from '../shell/shell.ts';

export type DiffOptions = { readonly json?: boolean };

/** Who may upgrade first after a change. */
export type Upgrade = 'any order' | 'consumers first' | 'producers first' | 'not compatible';

export type FieldChange = {
  readonly field: string;
  readonly change: string;
  readonly upgrade: Upgrade;
  /** Why, where not everyone can read everything. */
  readonly why: string;
};

/**
 * `hookline schemas diff [old] [new]`: compares two schema files; without them, each own file with what the registry has.
 * Exit code 1 where a change is not compatible in both directions (FULL).
 */
export async function diffSchemas(
  shell: Shell,
  before: string | undefined,
  after: string | undefined,
  { json = false }: DiffOptions,
): Promise<ExitCode> {
  if ((before === undefined) !== (after === undefined))
    throw new UsageError('give two schema files, the old one first, or none.');
  const pairs = before && after ? [filePair(before, after)] : await registryPairs(shell);
  const rows = pairs.flatMap(({ of, from, to }) => {
    const changes = compareSchemas(from, to);
    return changes.map((change) => (of === undefined ? change : { subject: of, ...change }));
  });
  if (rows.length === 0) shell.note('No difference that a reader or a writer would notice.');
  else printRows(shell, json, rows);
  return rows.every(({ upgrade }) => upgrade === 'any order') ? 0 : 1;
}

type Pair = { readonly of?: string; readonly from: AvroSchema; readonly to: AvroSchema };

function filePair(before: string, after: string): Pair {
  const read = (path: string): AvroSchema => {
    try {
      return JSON.parse(readFileSync(path, 'utf8')) as AvroSchema;
    } catch (error) {
      throw new UsageError(`${path} is not a schema file: ${(error as Error).message}`);
    }
  };
  return { from: read(before), to: read(after) };
}

async function registryPairs(shell: Shell): Promise<Pair[]> {
  const config = loadConfig(shell, 'topics', 'registry', 'schemas');
  const registry = connectRegistry(config);
  const pairs: Pair[] = [];
  for (const { topic, codec } of allSchemas(config)) {
    const of = subjectOf(topicName(config.topics.prefix, topic));
    const latest = (await registry.versions(of)).at(-1);
    if (!latest) shell.note(`${of} is not registered yet.`);
    else pairs.push({ of, from: JSON.parse(latest.schema), to: JSON.parse(codec.schema) });
  }
  return pairs;
}

/** A verdict for each field that changed. */
export function compareSchemas(from: AvroSchema, to: AvroSchema): FieldChange[] {
  const [before, after] = [fieldsOf(from), fieldsOf(to)];
  // A new consumer reads old records; an old consumer reads new ones.
  const newReads = incompatibilities(to, from);
  const oldReads = incompatibilities(from, to);
  const paths = [
    ...new Set([...before.keys(), ...after.keys(), ...[...newReads, ...oldReads].map(({ path }) => path)]),
  ];
  return paths.flatMap((path) => {
    const change = describeChange(before.get(path), after.get(path));
    const faults = [at(newReads, path, 'new consumers'), at(oldReads, path, 'old consumers')];
    const [byNew = '', byOld = ''] = faults;
    if (change === null && byNew === '' && byOld === '') return [];
    const why = faults.filter((text) => text !== '').join('; ');
    return [
      {
        field: path || '(the record)',
        change: change ?? 'changed inside',
        upgrade: upgradeOf(byNew, byOld),
        why,
      },
    ];
  });
}

function upgradeOf(byNew: string, byOld: string): Upgrade {
  if (byNew === '' && byOld === '') return 'any order';
  if (byNew === '') return 'consumers first';
  return byOld === '' ? 'producers first' : 'not compatible';
}

const at = (faults: readonly Incompatibility[], path: string, who: string): string =>
  faults
    .filter((fault) => fault.path === path)
    .map(({ why }) => `${who}: ${why}`)
    .join('; ');

/** A type as text, without what is inside it: its fields are rows of their own. */
type Described = { readonly type: string; readonly fallback: string };

function describeChange(before: Described | undefined, after: Described | undefined): string | null {
  if (!before) return after ? `added, ${after.type}` : null;
  if (!after) return 'removed';
  if (before.type !== after.type) return `${before.type} becomes ${after.type}`;
  return before.fallback === after.fallback ? null : `default ${before.fallback} becomes ${after.fallback}`;
}

function fieldsOf(schema: AvroSchema): Map<string, Described> {
  const found = new Map<string, Described>();
  const visit = (inner: AvroSchema, path: string): void => {
    if (typeof inner === 'string') return;
    if (Array.isArray(inner)) {
      for (const branch of inner) visit(branch, path);
      return;
    }
    for (const field of inner.fields ?? []) {
      const at = path === '' ? field.name : `${path}.${field.name}`;
      found.set(at, { type: textOf(field.type), fallback: JSON.stringify(field.default) ?? 'none' });
      visit(field.type, at);
    }
    if (inner.items !== undefined) visit(inner.items, `${path}[]`);
    if (inner.values !== undefined) visit(inner.values, `${path}{}`);
    if (typeof inner.type === 'object') visit(inner.type, path);
  };
  visit(schema, '');
  return found;
}

function textOf(schema: AvroSchema): string {
  if (typeof schema === 'string') return schema;
  if (Array.isArray(schema)) return schema.map(textOf).join(' or ');
  const { type, items, values, name, logicalType, symbols, size }: AvroType = schema;
  if (typeof type !== 'string') return textOf(type);
  if (type === 'array') return `array of ${textOf(items ?? 'null')}`;
  if (type === 'map') return `map of ${textOf(values ?? 'null')}`;
  if (type === 'enum') return `enum ${name} (${symbols?.join(', ')})`;
  if (type === 'fixed') return `fixed ${name} (${size} bytes)`;
  return logicalType ?? (name === undefined ? type : `${type} ${name}`);
}
