import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { ConfigError, envReader } from '../../config/env.ts';
import { OWN_TOPICS, topicName } from '../../core/names.ts';
import { dialectSettings } from '../../provider/settings.ts';
import { CLI_GROUPS, loadConfig } from '../shell/connections.ts';
import { secondsAsMs } from '../shell/option-values.ts';
import { printRows } from '../shell/print-rows.ts';
import { type ExitCode, inWords, type Run, type Shell, UsageError } from '../shell/shell.ts';
import { applyPlan, type CommandLine, openCommandLine } from './apply-plan.ts';
import { type Plan, planChanges } from './plan.ts';
import { askForDrift, readRecords } from './read-present.ts';
import type { WantedSubscriptions } from './read-wanted.ts';
import { readWanted } from './read-wanted.ts';
import { showPlan } from './show-plan.ts';

type Options = {
  file: string;
  refresh: boolean;
  timeout: string;
  json?: boolean;
  detailedExitcode?: boolean;
  delete?: boolean;
};

export function addSubscriptionsCommand(program: Command, shell: Shell, run: Run): void {
  const subscriptions = program.command('subscriptions').description('subscriptions as a file');
  const add = (verb: string, description: string, timeout: string) =>
    subscriptions
      .command(verb)
      .description(description)
      .requiredOption('-f, --file <file>', 'YAML file with the subscriptions of one command topic')
      .option('--no-refresh', 'does not ask what the payment service has: no drift is seen')
      .option('--timeout <seconds>', 'how long each answer of control is waited for', timeout)
      .option('--json', 'print JSON');
  add('plan', 'shows what apply would do; exit code 1 when that is anything', '30')
    .option('--detailed-exitcode', 'exit codes of terraform: 0 nothing to do, 1 it failed, 2 something to do')
    .action(run((options: Options) => (options.detailedExitcode ? inDetail : plan)(shell, options)));
  add('apply', 'sends the commands and waits for their results; doing it twice changes nothing', '120')
    .option('--delete', 'deletes subscriptions that the file does not name')
    .action(run((options: Options) => apply(shell, options)));
}

async function plan(shell: Shell, options: Options): Promise<ExitCode> {
  return withPlan(shell, options, async (made) => {
    if (options.json) shell.print(JSON.stringify(made, null, 2));
    else for (const line of showPlan(made, options.file)) shell.print(line);
    return made.changes.length > 0 ? 1 : 0;
  });
}

/** A fault and a difference are told apart, as scripts around terraform do. */
async function inDetail(shell: Shell, options: Options): Promise<ExitCode> {
  try {
    return (await plan(shell, options)) === 0 ? 0 : 2;
  } catch (error) {
    shell.note(error instanceof ConfigError ? error.message : `hookline: ${inWords(error)}`);
    return 1;
  }
}

async function apply(shell: Shell, options: Options): Promise<ExitCode> {
  return withPlan(shell, options, async (made, line) => {
    if (!options.json) for (const text of showPlan(made, options.file)) shell.print(text);
    const gone = made.changes.filter(({ action }) => action === 'delete').map(({ ref }) => ref);
    if (gone.length > 0 && !options.delete) {
      const mend = 'name them in the file, or give --delete';
      throw new UsageError(`nothing was sent: it would delete ${gone.join(', ')}; ${mend}.`);
    }
    const results = made.changes.length === 0 ? [] : await applyPlan(shell, line, made, timeoutOf(options));
    const failed = results.filter(({ status }) => status !== 'SUCCEEDED').length;
    if (options.json) shell.print(JSON.stringify({ ...made, results }, null, 2));
    else if (results.length > 0) {
      printRows(shell, false, results);
      shell.print(`Applied: ${results.length - failed} succeeded, ${failed} failed.`);
    }
    return failed === 0 ? 0 : 1;
  });
}

const timeoutOf = ({ timeout }: Options) => secondsAsMs('--timeout', timeout);

/** Makes the plan of a file, and has something done with it. */
async function withPlan(
  shell: Shell,
  options: Options,
  act: (plan: Plan, line: CommandLine) => Promise<ExitCode>,
): Promise<ExitCode> {
  const timeoutMs = timeoutOf(options);
  const wanted = readFile(shell, options.file);
  const config = loadConfig(shell, ...CLI_GROUPS);
  const topic = wanted.topic ?? topicName(config.topics.prefix, OWN_TOPICS.commands);
  const line = await openCommandLine(shell, config);
  try {
    // The state afterwards: what the comparison was made with is in it.
    const drift = options.refresh ? await askForDrift(line, topic, timeoutMs) : [];
    const made = planChanges(wanted, topic, { records: await readRecords(shell, line), drift });
    for (const conflict of made.conflicts) shell.note(conflict);
    if (made.conflicts.length > 0)
      throw new Error(`${topic} can't have what ${options.file} wants: nothing was sent.`);
    return await act(made, line);
  } finally {
    await line.stop();
  }
}

/** @throws UsageError after each fault was told with its line */
function readFile(shell: Shell, file: string): WantedSubscriptions {
  const reader = envReader(shell.source);
  const { dialect } = reader.done(reader.read(dialectSettings));
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new UsageError(`--file is ${JSON.stringify(file)}, which can't be read (${inWords(error)}).`);
  }
  const read = readWanted(file, text, dialect);
  if ('wanted' in read) return read.wanted;
  for (const fault of read.faults) shell.note(fault);
  throw new UsageError(`${file} can't be used: mend ${read.faults.length === 1 ? 'this' : 'these'}.`);
}
