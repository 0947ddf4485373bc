import { Argument, type Command as Program } from 'commander';
import { commandTopicFor } from '../../config/command-topics.ts';
import { COMMAND_TYPES, type CommandType, commandRecord } from '../../core/command.ts';
import { UsageError } from '../../core/errors.ts';
import { isoOf } from '../../core/instant.ts';
import { OWN_TOPICS, topicName } from '../../core/names.ts';
import { CLI_GROUPS, type Config, connectKafka, loadConfig } from '../shell/connections.ts';
import { secondsAsMs } from '../shell/option-values.ts';
import { printFields, printRows } from '../shell/print-rows.ts';
import { awaitResults, checkCommandTopic, publishOnce } from '../shell/send-commands.ts';
import type { ExitCode, Run, Shell } from '../shell/shell.ts';
import { type CommandInput, makeCommand, optionNameOf } from './make-command.ts';

type Options = CommandInput & {
  topic?: string;
  wait?: boolean;
  timeout: string;
  json?: boolean;
};

export function addCommandCommand(program: Program, shell: Shell, run: Run): void {
  /** An option may be repeated too. */
  const texts = (value: string, before: readonly string[] = []) => [
    ...before,
    ...value.split(',').filter((one) => one !== ''),
  ];
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
    .option('--if-match <id>', 'rejected unless the command with this id changed the ref last')
    .option(
      '--topic <name>',
      'full name of the command topic; {TOPIC_PREFIX}.commands by default, or the one of COMMAND_TOPICS that takes the ref',
    )
    .option('--wait', 'waits for the result; exit code 1 unless it is SUCCEEDED')
    .option(
      '--timeout <seconds>',
      'how long --wait waits; a command may take COMMAND_DEADLINE_MS of control',
      '60',
    )
    .option('--json', 'print JSON')
    .action(run((type: CommandType, options: Options) => sendCommand(shell, type, options)));
}

async function sendCommand(shell: Shell, type: CommandType, options: Options): Promise<ExitCode> {
  const command = makeCommand(type, options, optionNameOf);
  const timeoutMs = secondsAsMs('--timeout', options.timeout);
  const config = loadConfig(shell, ...CLI_GROUPS, 'commands');
  const topic = options.topic ?? topicFor(command.ref ?? null, config);
  checkCommandTopic('--topic', topic, config);
  const kafka = connectKafka(config);
  const again = 'do not send it again';
  const results = options.wait ? await awaitResults(shell, config, { kafka, again }) : null;
  const result = results?.of(command.commandId, timeoutMs);
  try {
    const [position] = await publishOnce(kafka, [commandRecord(topic, command)], shell.signal);
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

/** @throws UsageError where COMMAND_TOPICS has several that take it */
function topicFor(ref: string | null, { topics, commands }: Config<'topics' | 'commands'>): string {
  const topic = commandTopicFor(commands.topics, {
    usual: topicName(topics.prefix, OWN_TOPICS.commands),
    ref,
  });
  if (topic !== null) return topic;
  const names = commands.topics.map(({ name }) => name).join(', ');
  throw new UsageError(
    `give --topic: of ${names} not just one takes ${ref === null ? 'it' : `the ref ${ref}`}.`,
  );
}

/** Prints the result's fields as lines and its lists as tables. */
function printAnswer(shell: Shell, { subscriptions, drift, ...answer }: Record<string, unknown>): void {
  const asTime = (value: unknown) => isoOf(Number(value));
  const { receivedAt, finishedAt } = answer;
  printFields(shell, { ...answer, receivedAt: asTime(receivedAt), finishedAt: asTime(finishedAt) });
  for (const rows of [subscriptions, drift]) {
    if (!Array.isArray(rows) || rows.length === 0) continue;
    shell.print('');
    printRows(shell, false, rows);
  }
}
