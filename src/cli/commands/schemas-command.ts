import type { Command } from 'commander';
import type { Registry } from '../../avro/registry.ts';
import { hasCode } from '../../core/errors.ts';
import { subjectOf, topicName } from '../../core/names.ts';
import { connectRegistry, loadConfig } from '../shell/connections.ts';
import { printRows } from '../shell/print-rows.ts';
import { allSchemas } from '../shell/schemas-and-topics.ts';
import type { ExitCode, Run, Shell } from '../shell/shell.ts';

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
    .option('--json', 'print JSON')
    .action(run((options: Options) => checkOrPush(shell, pushSchema, options)));
}

type Finding = { ok: boolean; state: string; id?: number };

async function checkOrPush(
  shell: Shell,
  handle: (registry: Registry, subject: string, schema: string) => Promise<Finding>,
  options: Options,
): Promise<ExitCode> {
  const config = loadConfig(shell, 'topics', 'registry', 'schemas');
  const registry = connectRegistry(config);
  const rows = [];
  let allOk = true;
  for (const { file, topic, codec } of allSchemas(config)) {
    const subject = subjectOf(topicName(config.topics.prefix, topic));
    const { ok, ...finding } = await handle(registry, subject, codec.schema);
    rows.push({ file, subject, ...finding });
    allOk &&= ok;
  }
  printRows(shell, options.json === true, rows);
  return allOk ? 0 : 1;
}

async function checkSchema(registry: Registry, subject: string, schema: string): Promise<Finding> {
  try {
    return { ok: true, state: 'registered', id: await registry.idOf(subject, schema) };
  } catch (error) {
    if (!hasCode(error, 'SCHEMA_NOT_REGISTERED')) throw error;
    const fits = await registry.isCompatible(subject, schema);
    return {
      ok: false,
      state: fits
        ? 'not registered, but compatible: run hookline schemas push'
        : 'not registered, and INCOMPATIBLE with a registered version',
    };
  }
}

async function pushSchema(registry: Registry, subject: string, schema: string): Promise<Finding> {
  try {
    return { ok: true, state: 'registered', id: await registry.register(subject, schema) };
  } catch (error) {
    if (!hasCode(error, 'SCHEMA_INCOMPATIBLE')) throw error;
    return { ok: false, state: `refused: ${error.message}` };
  }
}
