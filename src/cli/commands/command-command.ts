import { Argument, type Command as Program } from 'commander';
import { COMMAND_TYPES, type CommandType, MAX_EXECUTION_IDS } from '../../core/command.ts';
import { isRef, OWN_TOPICS, topicName } from '../../core/names.ts';
import { newId } from '../../crypto/ids.ts';
import { CLI_GROUPS, connectKafka, loadConfig } from '../shell/connections.ts';
import { ifGiven, secondsAsMs } from '../shell/option-values.ts';
import { printFields, printRows } from '../shell/print-rows.ts';
import { awaitResults, commandRecord, publishOnce } from '../shell/send-commands.ts';
import { type ExitCode, type Run, type Shell, UsageError } from '../shell/shell.ts';

type Options = {
  ref?: string;
  events?: string[];
  executionIds?: string[];
  extra?: string;
  issuedBy?: string;
  expiresIn?: string;
  dryRun?: boolean;
  commandId?: string;
  topic?: string;
  wait?: boolean;
  timeout: string;
  json?: boolean;
};

export function addCommandCommand(program: Program, shell: Shell, run: Run): void {
  const texts = (value: string) => value.split(',').filter((one) => one !== '');
  program
    .command('command')
    .description('sends a command to control')
    .addArgument(new Argument('<type>', 'what to do').choices(COMMAND_TYPES))
    .option('--ref <ref>', 'name of the subscription')
    .option('--events <list>', 'events, separated by commas', texts)
    .option('--execution-ids <list>', 'ids of the webhook runs to replay, separated by commas', texts)
    .option('--extra <json>', 'JSON object whose fields are added to the request body')
    .option('--issued-by <name>', 'who sends it')
    .option('--expires-in <seconds>', 'control does not execute it after so many seconds')
    .option('--dry-run', 'control checks the command and changes nothing')
    .option('--command-id <id>', 'id of the command; by default a new UUID')
    .option('--topic <name>', 'full name of the command topic; {TOPIC_PREFIX}.commands by default')
    .option('--wait', 'waits for the result; exit code 1 unless it is SUCCEEDED')
    .option('--timeout <seconds>', 'how long --wait waits', '60')
    .option('--json', 'print JSON')
    .action(run((type: CommandType, options: Options) => sendCommand(shell, type, options)));
}

async function sendCommand(shell: Shell, type: CommandType, options: Options): Promise<ExitCode> {
  const command = commandOf(type, options);
  const timeoutMs = secondsAsMs('--timeout', options.timeout);
  const config = loadConfig(shell, ...CLI_GROUPS);
  const kafka = connectKafka(config);
  const topic = options.topic ?? topicName(config.topics.prefix, OWN_TOPICS.commands);
  const results = options.wait ? await awaitResults(shell, config, kafka) : null;
  const result = results?.of(command.commandId, timeoutMs);
  try {
    const [position] = await publishOnce(kafka, [commandRecord(topic, command)]);
    if (!result) {
      printRows(shell, options.json === true, [{ commandId: command.commandId, ...position }]);
      return 0;
    }
    shell.note(`sent ${command.commandId}, waiting for its result ...`);
    const answer = await result;
    if (options.json) printRows(shell, true, [answer]);
    else printAnswer(shell, answer);
    return answer.status === 'SUCCEEDED' ? 0 : 1;
  } finally {
    await results?.stop();
  }
}

/** Prints the result's fields as lines and its lists as tables. */
function printAnswer(shell: Shell, { subscriptions, drift, ...answer }: Record<string, unknown>): void {
  const asTime = (value: unknown) => new Date(Number(value)).toISOString();
  const { receivedAt, finishedAt } = answer;
  printFields(shell, { ...answer, receivedAt: asTime(receivedAt), finishedAt: asTime(finishedAt) });
  for (const rows of [subscriptions, drift]) {
    if (!Array.isArray(rows) || rows.length === 0) continue;
    shell.print('');
    printRows(shell, false, rows);
  }
}

/** Checks here what control would reject anyway: without --wait nobody may see the result. */
function commandOf(type: CommandType, options: Options) {
  const { ref, executionIds } = options;
  if (ref === undefined && type !== 'subscription.list') throw new UsageError(`${type} needs --ref.`);
  if (ref !== undefined && !isRef(ref)) {
    throw new UsageError(
      `--ref is ${JSON.stringify(ref)}: give at most 63 of a-z, 0-9 and hyphens, no hyphen first.`,
    );
  }
  if (type === 'webhook.replay' && !executionIds?.length)
    throw new UsageError(`${type} needs --execution-ids.`);
  if ((executionIds?.length ?? 0) > MAX_EXECUTION_IDS)
    throw new UsageError(
      `--execution-ids has ${executionIds?.length} entries, at most ${MAX_EXECUTION_IDS} are allowed: send several commands.`,
    );
  const now = Date.now();
  const expiresInMs = ifGiven(options.expiresIn, (text) => secondsAsMs('--expires-in', text));
  return {
    commandId: options.commandId ?? newId(),
    type,
    ref,
    events: options.events,
    executionIds,
    extra: options.extra === undefined ? undefined : parseExtra(options.extra),
    issuedBy: options.issuedBy,
    issuedAt: new Date(now).toISOString(),
    expiresAt: expiresInMs === undefined ? undefined : new Date(now + expiresInMs).toISOString(),
    dryRun: options.dryRun,
  };
}

function parseExtra(text: string): object {
  try {
    const extra: unknown = JSON.parse(text);
    if (typeof extra === 'object' && extra !== null && !Array.isArray(extra)) return extra;
  } catch {
    // Reported below, like every other value that is not an object.
  }
  throw new UsageError('--extra is not a JSON object: give one such as {"description":"ledger"}.');
}
