import { readFileSync } from 'node:fs';
import type { AvroSchema } from '../../avro/avro-schema.ts';
import { type Incompatibility, incompatibilities } from '../../avro/compatibility.ts';
import { parseSchemaFile } from '../../avro/record-codec.ts';
import { UsageError } from '../../core/errors.ts';
import { subjectOf, topicName } from '../../core/names.ts';
import { orAborted } from '../../runtime/or-aborted.ts';
import { connectRegistry, loadConfig } from '../shell/connections.ts';
import { printRows } from '../shell/print-rows.ts';
import { allSchemas } from '../shell/schemas-and-topics.ts';
import type { ExitCode, Shell } from '../shell/shell.ts';
import { type Change, changesBetween } from './describe-changes.ts';

export type DiffOptions = { readonly json?: boolean };

/** Who may upgrade first after a change; or nobody, as readers would take values for others without an error. */
export type Upgrade =
  | 'any order'
  | 'consumers first'
  | 'producers first'
  | 'not compatible'
  | 'values misread';

export type FieldChange = {
  readonly field: string;
  readonly change: string;
  readonly upgrade: Upgrade;
  /** Why, where not everyone can read everything. */
  readonly why: string;
};

/**
 * `hookline schemas diff [old] [new]`: compares two schema files; without them, each own file with what the registry has.
 * Exit code 1 unless readers and writers of all versions get along (FULL_TRANSITIVE), and read what is meant; also where
 * nothing was compared: a pipeline that asks the wrong registry must not pass.
 */
export async function diffSchemas(
  shell: Shell,
  before: string | undefined,
  after: string | undefined,
  { json = false }: DiffOptions,
): Promise<ExitCode> {
  if ((before === undefined) !== (after === undefined))
    throw new UsageError('give two schema files, the old one first, or none.');
  const subjects =
    before && after ? [filePair(before, after)] : await orAborted(registeredSubjects(shell), shell.signal);
  const rows = subjects.flatMap(rowsOf);
  const compared = subjects.filter(({ versions }) => versions.length > 0).length;
  if (rows.length > 0 || json) printRows(shell, json, rows);
  if (compared === 0) shell.note('Nothing was compared: the registry has none of the subjects.');
  else if (rows.length === 0 && !json)
    shell.note(`No difference that a reader or a writer would notice${inSubjects(compared, subjects)}.`);
  return compared > 0 && rows.every(({ upgrade }) => upgrade === 'any order') ? 0 : 1;
}

const inSubjects = (compared: number, { length }: readonly Subject[]): string =>
  compared === length ? '' : ` in the ${compared} of ${length} subjects that are registered`;

/** A schema, and those that it follows. */
type Subject = {
  readonly subject?: string;
  /** The latest last. */
  readonly versions: readonly { readonly version?: number; readonly schema: AvroSchema }[];
  readonly schema: AvroSchema;
};

/** Everything that is different from the latest version, and what is not compatible with earlier ones. */
function rowsOf({ subject, versions, schema }: Subject): FieldChange[] {
  const [latest, ...earlier] = versions.toReversed();
  const rows = [latest, ...earlier].flatMap((one) => {
    if (!one) return [];
    const changes = compareSchemas(one.schema, schema);
    const counted = one === latest ? changes : changes.filter(({ upgrade }) => upgrade !== 'any order');
    return counted.map((change) => ({ change, version: one.version }));
  });
  const seen = new Set<string>();
  return rows.flatMap(({ change, version }) => {
    const { field, upgrade, why } = change;
    const key = JSON.stringify([field, upgrade, why]);
    if (seen.size === seen.add(key).size) return [];
    return [subject === undefined ? change : { subject, version, ...change }];
  });
}

function filePair(before: string, after: string): Subject {
  const read = (path: string): AvroSchema => {
    try {
      return parseSchemaFile(readFileSync(path, 'utf8'));
    } catch (error) {
      throw new UsageError(`${path} is not a schema file: ${(error as Error).message}`);
    }
  };
  return { versions: [{ schema: read(before) }], schema: read(after) };
}

async function registeredSubjects(shell: Shell): Promise<Subject[]> {
  const config = loadConfig(shell, 'topics', 'registry', 'schemas');
  const registry = connectRegistry(config);
  const subjects: Subject[] = [];
  for (const { topic, codec } of allSchemas(config)) {
    const subject = subjectOf(topicName(config.topics.prefix, topic));
    const found = await registry.versions(subject);
    if (found.length === 0) shell.note(`${subject} is not registered yet: run hookline schemas push.`);
    const versions = found.map(({ version, schema }) => ({ version, schema: JSON.parse(schema) }));
    subjects.push({ subject, versions, schema: JSON.parse(codec.schema) });
  }
  return subjects;
}

/** A verdict for each field that changed. */
export function compareSchemas(from: AvroSchema, to: AvroSchema): FieldChange[] {
  const changes = changesBetween(from, to);
  // A new consumer reads old records; an old consumer reads new ones.
  const newReads = incompatibilities(to, from);
  const oldReads = incompatibilities(from, to);
  const paths = new Set([...changes, ...newReads, ...oldReads].map(({ path }) => path));
  return [...paths].map((path) => {
    const own = changes.filter((change) => change.path === path);
    const misread = own.flatMap((change) => change.misread ?? []);
    const byNew = at(newReads, path, 'new consumers');
    const byOld = at(oldReads, path, 'old consumers');
    return {
      field: path || '(the record)',
      change: own.map(({ change }: Change) => change).join('; ') || 'changed inside',
      upgrade: upgradeOf(byNew !== '', byOld !== '', misread.length > 0),
      why: [byNew, byOld, ...misread].filter((text) => text !== '').join('; '),
    };
  });
}

function upgradeOf(failsNew: boolean, failsOld: boolean, isMisread: boolean): Upgrade {
  if (failsNew && failsOld) return 'not compatible';
  if (isMisread) return 'values misread';
  if (failsNew) return 'producers first';
  return failsOld ? 'consumers first' : 'any order';
}

const at = (faults: readonly Incompatibility[], path: string, who: string): string =>
  faults
    .filter((fault) => fault.path === path)
    .map(({ why }) => `${who}: ${why}`)
    .join('; ');
