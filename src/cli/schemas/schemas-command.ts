import type { Command } from 'commander';
import { fieldsWithoutDefault } from '../../avro/avro-schema.ts';
import type { Registry } from '../../avro/registry.ts';
import { hasCode, UsageError } from '../../core/errors.ts';
import { subjectOf, topicName } from '../../core/names.ts';
import { orAborted } from '../../runtime/or-aborted.ts';
import { connectRegistry, loadConfig } from '../shell/connections.ts';
import { printRows } from '../shell/print-rows.ts';
import { allSchemas } from '../shell/schemas-and-topics.ts';
import type { ExitCode, Run, Shell } from '../shell/shell.ts';
import { type DiffOptions, diffSchemas } from './diff-schemas.ts';
import { type TestOptions, testSamples } from './test-samples.ts';

type Options = { json?: boolean };

export function addSchemasCommand(program: Command, shell: Shell, run: Run): void {
  const schemas = program.command('schemas').description('the Avro schemas of the topics');
  schemas
    .command('check')
    .description(
      'compiles every schema file and asks the registry for it; exit code 1 unless all are registered',
    )
    .option('--json', 'print JSON')
    .action(run((options: Options) => checkOrPush(shell, checkSchema, options)));
  schemas
    .command('push')
    .description('registers every schema file as subject <topic>-value with FULL_TRANSITIVE compatibility')
    .option(
      '--major',
      'moves subjects over to schemas that their versions are not compatible with: those are soft-deleted, and their ids still resolve',
    )
    .option(
      '--keep-old',
      'with --major: soft-deletes nothing yet, so that processes of the old schemas can still start; run --major without it when none of them is left',
    )
    .option('--json', 'print JSON')
    .action(run((options: PushOptions) => checkOrPush(shell, pushBy(options), options)));
  addTestAndDiff(schemas, shell, run);
}

function addTestAndDiff(schemas: Command, shell: Shell, run: Run): void {
  schemas
    .command('test')
    .description(
      'shows what sample messages become, and fails on drift and unknown types; needs neither Kafka nor a registry',
    )
    .argument('<paths...>', 'files, or folders with *.json files')
    .option('--junit <file>', 'also writes the results as JUnit XML')
    .option('--json', 'print JSON')
    .action(run((paths: string[], options: TestOptions) => testSamples(shell, paths, options)));
  schemas
    .command('diff')
    .description(
      'compares two schema files field by field, or without them all own files with every version in the registry: what changed, and who upgrades first; exit code 1 unless any order will do',
    )
    .argument('[old]', 'schema file')
    .argument('[new]', 'schema file')
    .option('--json', 'print JSON')
    .action(
      run((before: string | undefined, after: string | undefined, options: DiffOptions) =>
        diffSchemas(shell, before, after, options),
      ),
    );
}

type Outcome = { ok: boolean; state: string; id?: number };

async function checkOrPush(
  shell: Shell,
  handle: (registry: Registry, subject: string, schema: string) => Promise<Outcome>,
  options: PushOptions,
): Promise<ExitCode> {
  const config = loadConfig(shell, 'topics', 'registry', 'schemas');
  const registry = connectRegistry(config);
  const rows = [];
  let allOk = true;
  for (const { file, topic, codec } of allSchemas(config)) {
    const subject = subjectOf(topicName(config.topics.prefix, topic));
    const handled = async () =>
      (await refuseWithoutDefault(registry, subject, codec.schema)) ??
      handle(registry, subject, codec.schema);
    shell.signal.throwIfAborted();
    // A subject that moves over has no rule meanwhile: it is not left so.
    const { ok, ...finding } = await (options.major ? handled() : orAborted(handled(), shell.signal));
    rows.push({ file, subject, ...finding });
    allOk &&= ok;
  }
  printRows(shell, options.json === true, rows);
  return allOk ? 0 : 1;
}

/** A field without a default can never be removed: readers of the schema without it could not read older records. */
async function refuseWithoutDefault(
  registry: Registry,
  subject: string,
  schema: string,
): Promise<Outcome | null> {
  const fields = fieldsWithoutDefault(JSON.parse(schema));
  if (fields.length === 0) return null;
  const isNew = await registry.idOf(subject, schema).then(
    () => false,
    (error) => hasCode(error, 'SCHEMA_NOT_REGISTERED') || Promise.reject(error),
  );
  const state = `refused: could never be removed: give ${fields.join(', ')} "default": null`;
  return isNew ? { ok: false, state } : null;
}

async function checkSchema(registry: Registry, subject: string, schema: string): Promise<Outcome> {
  const level = await registry.compatibility(subject);
  const isUsual = level === null || level === 'FULL_TRANSITIVE';
  const rule = isUsual
    ? ''
    : `; its compatibility is ${level}, not FULL_TRANSITIVE: run hookline schemas push, which sets it`;
  try {
    return { ok: true, id: await registry.idOf(subject, schema), state: `registered${rule}` };
  } catch (error) {
    if (!hasCode(error, 'SCHEMA_NOT_REGISTERED')) throw error;
    const incompatible = await registry.incompatibleVersions(subject, schema);
    const state = incompatible?.length
      ? `not registered, and INCOMPATIBLE with ${listOf(incompatible)}`
      : 'not registered, but compatible: run hookline schemas push';
    return { ok: false, state: incompatible === null ? state : state + rule };
  }
}

const listOf = (versions: readonly number[]) => versions.map((version) => `version ${version}`).join(', ');

type PushOptions = Options & { major?: boolean; keepOld?: boolean };

function pushBy({ major, keepOld = false }: PushOptions) {
  if (keepOld && !major) throw new UsageError('--keep-old belongs to --major.');
  if (!major) return pushSchema;
  return (registry: Registry, subject: string, schema: string) =>
    moveSchema(registry, subject, schema, keepOld);
}

async function moveSchema(
  registry: Registry,
  subject: string,
  schema: string,
  keepsOld: boolean,
): Promise<Outcome> {
  const versions = await registry.moveOver(subject, schema, { keepsOld });
  const id = await registry.idOf(subject, schema);
  const state = versions.length === 0 ? 'registered' : `registered; soft-deleted: ${listOf(versions)}`;
  return { ok: true, state, id };
}

async function pushSchema(registry: Registry, subject: string, schema: string): Promise<Outcome> {
  try {
    return { ok: true, state: 'registered', id: await registry.register(subject, schema) };
  } catch (error) {
    if (!hasCode(error, 'SCHEMA_INCOMPATIBLE', 'REGISTRY_READ_ONLY')) throw error;
    // With old versions that --major --keep-old left, registering again is refused, and needless; so is it where nothing is taken.
    const id = await registry.idOf(subject, schema).catch(() => undefined);
    if (id !== undefined) return { ok: true, state: 'registered', id };
    if (error.code === 'REGISTRY_READ_ONLY') throw error;
    return { ok: false, state: `refused: ${error.message}. ${REFUSED}` };
  }
}

/** Most schemas are refused for a mistake in a field: the way around the rule comes last, and says what it costs. */
const REFUSED =
  'Fix: give each field that is added or removed a default, and keep the types of the others; hookline schemas diff names the fields. ' +
  'If the change has to be incompatible: hookline schemas push --major soft-deletes the versions in its way, and consumers that keep their own schema may not read new records (docs/consuming.md)';
