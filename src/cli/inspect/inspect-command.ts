import type { Command } from 'commander';
import { createWriterReader, isRegistryUnavailable, type RecordReader } from '../../avro/record-reader.ts';
import { HooklineError, UsageError } from '../../core/errors.ts';
import { orAborted } from '../../runtime/or-aborted.ts';
import { CLI_GROUPS, connectKafka, connectRegistry, loadConfig } from '../shell/connections.ts';
import { createMask, REVEAL_HELP } from '../shell/mask.ts';
import { ifGiven, wholeNumber } from '../shell/option-values.ts';
import { printRows } from '../shell/print-rows.ts';
import type { ExitCode, Run, Shell } from '../shell/shell.ts';
import { describers } from './describe-record.ts';
import { DEFAULT_LIMIT, type Found, inOrder, searchTopic, topicsToSearch } from './search-topics.ts';

type Options = { limit?: string; json?: boolean; reveal?: boolean };

export function addInspectCommand(program: Command, shell: Shell, run: Run): void {
  program
    .command('inspect')
    .description('finds records by ref, id or entity in all topics: where they are, and what happened')
    .argument('<what>', 'a ref, a command id, an event id, an entity or a subscription id')
    .option('--limit <n>', `the latest n records of each topic (default: ${DEFAULT_LIMIT})`)
    .option('--reveal', REVEAL_HELP)
    .option('--json', 'print JSON')
    .action(run((what: string, options: Options) => inspect(shell, what, options)));
}

async function inspect(shell: Shell, wanted: string, options: Options): Promise<ExitCode> {
  if (wanted === '')
    throw new UsageError(
      'nothing to search for: give a ref, a command id, an event id, an entity or a subscription id.',
    );
  const limit = ifGiven(options.limit, (text) => wholeNumber('--limit', text, { min: 1 })) ?? DEFAULT_LIMIT;
  const config = loadConfig(shell, ...CLI_GROUPS, 'commands');
  const commandTopics = config.commands.topics.map(({ name }) => name);
  const kafka = connectKafka(config);
  const mask = createMask(config, options.reveal === true);
  const readEvent = createWriterReader(connectRegistry(config));
  let unread = 0;
  const read: RecordReader = (value) =>
    readEvent(value).catch((error) => {
      if (isRegistryUnavailable(error)) unread++;
      throw error;
    });
  const describe = describers(read, mask);
  const found: Found[] = [];
  const { prefix } = config.topics;
  const topics = await orAborted(topicsToSearch(kafka, prefix, commandTopics), shell.signal);
  if (![...topics.keys()].some((topic) => topic.startsWith(`${prefix}.`)))
    throw new HooklineError('TOPICS_MISSING', `none begins with ${prefix}., as TOPIC_PREFIX says`);
  for (const [topic, kind] of topics) {
    const searched = searchTopic(kafka, topic, { wanted, describe: describe[kind], limit });
    const { latest, earlier } = await orAborted(searched, shell.signal);
    found.push(...latest);
    if (earlier > 0) shell.note(`${topic} has ${earlier} earlier record(s) about it: --limit shows more`);
  }
  const rows = inOrder(found).map(({ time, topic, partition, offset, step, what }) => ({
    time,
    topic,
    partition,
    offset,
    step,
    what,
  }));
  printRows(shell, options.json === true, rows);
  if (unread > 0)
    shell.note(
      `${unread} record(s) that may be about it could not be read: the schema registry does not answer`,
    );
  return found.length > 0 && unread === 0 ? 0 : 1;
}
