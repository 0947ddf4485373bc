import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { ConfigError } from '../../config/env.ts';
import { PLANNER } from '../../core/command.ts';
import { UsageError } from '../../core/errors.ts';
import { CLI_GROUPS, loadConfig } from '../shell/connections.ts';
import { secondsAsMs } from '../shell/option-values.ts';
import { printRows } from '../shell/print-rows.ts';
import { describeError, type ExitCode, type Run, type Shell } from '../shell/shell.ts';
import { applyPlan } from './apply-plan.ts';
import { type CommandChannel, openCommandChannel } from './command-channel.ts';
import { makePlan, readWantedFile } from './make-plan.ts';
import { type Plan, refsDeleted, refsDrifted } from './plan.ts';
import type { WantedSubscriptions } from './read-wanted.ts';
import { showPlan } from './show-plan.ts';

type Options = {
  file: string;
  refresh: boolean;
  timeout: string;
  json?: boolean;
  detailedExitcode?: boolean;
  delete?: boolean;
  failOnDrift?: boolean;
};

export function addSubscriptionsCommand(program: Command, shell: Shell, run: Run): void {
  const subscriptions = program
    .command('subscriptions')
    .description('manages the subscriptions of a YAML file');
  const add = (verb: string, description: string, timeout: string) =>
    subscriptions
      .command(verb)
      .description(description)
      .requiredOption('-f, --file <file>', 'YAML file with the subscriptions of one command topic')
      .option('--no-refresh', 'does not ask for the subscriptions of the provider: drift is not detected')
      .option('--timeout <seconds>', 'how long to wait for each result of control', timeout)
      .option('--json', 'print JSON');
  add('plan', 'shows what apply would do; exit code 1 if it would change something', '30')
    .option('--detailed-exitcode', 'exit codes as of terraform: 0 nothing to do, 1 failed, 2 something to do')
    .action(run((options: Options) => (options.detailedExitcode ? inDetail : plan)(shell, options)));
  add('apply', 'sends the commands and waits for their results; may be repeated', '120')
    .option('--delete', 'also deletes subscriptions that are not in the file')
    .option('--fail-on-drift', 'sends nothing if a subscription was changed at the provider; exit code 2')
    .action(run((options: Options) => apply(shell, options)));
}

async function plan(shell: Shell, options: Options): Promise<ExitCode> {
  return withPlan(shell, options, async (made) => {
    if (options.json) shell.print(JSON.stringify(made, null, 2));
    else for (const line of showPlan(made, options.file)) shell.print(line);
    return made.changes.length > 0 ? 1 : 0;
  });
}

/** Exit codes of `terraform plan -detailed-exitcode`, for scripts that know these. */
async function inDetail(shell: Shell, options: Options): Promise<ExitCode> {
  try {
    return (await plan(shell, options)) === 0 ? 0 : 2;
  } catch (error) {
    shell.note(error instanceof ConfigError ? error.message : `hookline: ${describeError(error)}`);
    return 1;
  }
}

async function apply(shell: Shell, options: Options): Promise<ExitCode> {
  if (options.failOnDrift && !options.refresh)
    throw new UsageError('--fail-on-drift asks what the provider has: leave out --no-refresh.');
  return withPlan(shell, options, async (made, channel) => {
    if (!options.json) for (const text of showPlan(made, options.file)) shell.print(text);
    if (options.failOnDrift) refuseDrift(made);
    const deleted = refsDeleted(made);
    if (deleted.length > 0 && !options.delete) {
      const remedy = 'add them to the file, or give --delete';
      throw new UsageError(`nothing was sent, because it would delete ${deleted.join(', ')}: ${remedy}.`);
    }
    const results =
      made.changes.length === 0 ? [] : await applyPlan(shell, channel, made, timeoutOf(options));
    const failed = results.filter(({ status }) => status !== 'SUCCEEDED').length;
    if (options.json) shell.print(JSON.stringify({ ...made, results }, null, 2));
    else if (results.length > 0) {
      printRows(shell, false, results);
      shell.print(`Applied: ${results.length - failed} succeeded, ${failed} failed.`);
    }
    return failed === 0 ? 0 : 1;
  });
}

/** For a pipeline that is to stop when somebody changes a subscription at the provider, instead of undoing that. */
function refuseDrift(plan: Plan): void {
  const drifted = refsDrifted(plan);
  if (drifted.length === 0) return;
  const remedy = 'undo that at the provider, or repair it by applying without --fail-on-drift';
  throw new UsageError(`nothing was sent, because ${drifted.join(', ')} changed at the provider: ${remedy}.`);
}

const timeoutOf = ({ timeout }: Options) => secondsAsMs('--timeout', timeout);

/** Makes the plan of a file and calls `act` with it. */
async function withPlan(
  shell: Shell,
  options: Options,
  act: (plan: Plan, channel: CommandChannel) => Promise<ExitCode>,
): Promise<ExitCode> {
  const timeoutMs = timeoutOf(options);
  const wanted = readFile(shell, options.file);
  const config = loadConfig(shell, ...CLI_GROUPS, 'commands');
  const channel = await openCommandChannel(shell, config, PLANNER);
  try {
    const how = { refresh: options.refresh, timeoutMs, commandTopics: config.commands.topics };
    const made = await makePlan(shell, channel, wanted, how);
    for (const conflict of made.conflicts) shell.note(conflict);
    if (made.conflicts.length > 0)
      throw new UsageError(`${options.file} conflicts with command topics: nothing was sent.`);
    return await act(made, channel);
  } finally {
    await channel.stop();
  }
}

/** @throws UsageError after printing each fault with its line */
function readFile(shell: Shell, file: string): WantedSubscriptions {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new UsageError(
      `--file is ${JSON.stringify(file)}, which cannot be read (${describeError(error)}).`,
    );
  }
  const read = readWantedFile(shell, file, text);
  if ('wanted' in read) return read.wanted;
  for (const fault of read.faults) shell.note(fault);
  throw new UsageError(`${file} cannot be used: correct ${read.faults.length === 1 ? 'this' : 'these'}.`);
}
