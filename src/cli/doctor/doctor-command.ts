import type { Command } from 'commander';
import { ConfigError } from '../../config/env.ts';
import { hasCode } from '../../core/errors.ts';
import { orAborted } from '../../runtime/or-aborted.ts';
import { type Check, type Finding, failure, fault } from '../shell/finding.ts';
import { printRows } from '../shell/print-rows.ts';
import type { ExitCode, Run, Shell } from '../shell/shell.ts';
import { checkBodyStore } from './check-body-store.ts';
import { checkConfiguration, checkNames, checkSecrets } from './check-files.ts';
import { checkKafka } from './check-kafka.ts';
import { checkProxy } from './check-proxy.ts';
import { checkSealedSecrets } from './check-sealed-secrets.ts';
import { checkClock, checkProvider, checkRegistry } from './check-services.ts';

const CHECKS: Readonly<Record<string, Check>> = {
  configuration: checkConfiguration,
  names: checkNames,
  kafka: checkKafka,
  proxy: checkProxy,
  registry: checkRegistry,
  'object store': checkBodyStore,
  secrets: checkSecrets,
  'sealed secrets': checkSealedSecrets,
  provider: checkProvider,
  clock: checkClock,
};

export function addDoctorCommand(program: Command, shell: Shell, run: Run): void {
  program
    .command('doctor')
    .description(
      'checks everything that Hookline depends on, and names a remedy for each finding; exit code 1 on a fault',
    )
    .option('--json', 'print JSON')
    .action(run((options: { json?: boolean }) => runChecks(shell, options.json === true)));
}

async function runChecks(shell: Shell, json: boolean): Promise<ExitCode> {
  const checks = Object.entries(CHECKS).map(([name, check]) => orFault(name, check, shell));
  const results = await orAborted(Promise.all(checks), shell.signal);
  const findings = [...new Map(results.flat().map((finding) => [JSON.stringify(finding), finding])).values()];
  printRows(shell, json, findings);
  const faults = findings.filter((finding) => finding.state === 'FAULT').length;
  shell.note(faults === 0 ? 'No faults.' : `${faults} fault(s).`);
  return faults === 0 ? 0 : 1;
}

/** A check that throws is a finding too; the others continue. */
async function orFault(name: string, check: Check, shell: Shell): Promise<Finding[]> {
  try {
    return await check(shell);
  } catch (error) {
    if (error instanceof ConfigError) {
      return error.faults.map((finding) => fault('configuration', finding, 'set or correct the variable'));
    }
    // Several checks read the schema files: the same finding from each is printed once.
    if (hasCode(error, 'SCHEMA_INVALID')) {
      return [failure('schema files', error, 'correct the file, or SCHEMAS_DIR')];
    }
    return [failure(name, error, 'see the finding')];
  }
}
