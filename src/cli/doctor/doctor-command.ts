import type { Command } from 'commander';
import { ConfigError } from '../../config/env.ts';
import { hasCode } from '../../core/errors.ts';
import { printRows } from '../shell/print-rows.ts';
import { type ExitCode, inWords, type Run, type Shell } from '../shell/shell.ts';
import { examineConfiguration, examineSecrets } from './check-files.ts';
import { examineKafka } from './check-kafka.ts';
import { examineClock, examineProvider, examineRegistry } from './check-services.ts';
import { type Examination, type Finding, failure, fault } from './finding.ts';

const EXAMINATIONS: Readonly<Record<string, Examination>> = {
  configuration: examineConfiguration,
  kafka: examineKafka,
  registry: examineRegistry,
  secrets: examineSecrets,
  provider: examineProvider,
  clock: examineClock,
};

export function addDoctorCommand(program: Command, shell: Shell, run: Run): void {
  program
    .command('doctor')
    .description('looks at all that Hookline stands on; each finding names its mend; exit code 1 on a fault')
    .option('--json', 'print JSON')
    .action(run((options: { json?: boolean }) => examine(shell, options.json === true)));
}

async function examine(shell: Shell, json: boolean): Promise<ExitCode> {
  const examined = await Promise.all(
    Object.entries(EXAMINATIONS).map(([name, look]) => orFault(name, look, shell)),
  );
  const findings = [
    ...new Map(examined.flat().map((finding) => [JSON.stringify(finding), finding])).values(),
  ];
  printRows(shell, json, findings);
  const faults = findings.filter((finding) => finding.state === 'FAULT').length;
  shell.note(faults === 0 ? 'No faults.' : `${faults} fault(s).`);
  return faults === 0 ? 0 : 1;
}

/** An examination that can't be made is a finding too: the others go on. */
async function orFault(name: string, look: Examination, shell: Shell): Promise<Finding[]> {
  try {
    return await look(shell);
  } catch (error) {
    if (error instanceof ConfigError) {
      return error.faults.map((finding) => fault('configuration', finding, 'set the variable'));
    }
    // Several examinations stand on the files: found once, it is said once.
    if (hasCode(error, 'SCHEMA_INVALID')) {
      return [fault('schema files', inWords(error), 'correct the file, or SCHEMAS_DIR')];
    }
    return [failure(name, error, 'see the finding')];
  }
}
