import type { Command } from 'commander';
import { createWriterReader } from '../../avro/record-reader.ts';
import { envReader } from '../../config/env.ts';
import { OWN_TOPICS, topicName } from '../../core/names.ts';
import { withAdmin } from '../../kafka/admin/describe-topics.ts';
import { commandTopicSettings } from '../../kafka/connect/settings.ts';
import { openTopicReader } from '../../kafka/consume/topic-reader.ts';
import type { KafkaAccess } from '../../kafka/open-kafka.ts';
import { type CliKafka, connectKafka, connectRegistry, loadCliConfig } from '../shell/connections.ts';
import { ifGiven, wholeNumber } from '../shell/option-values.ts';
import { printRows } from '../shell/print-rows.ts';
import type { ExitCode, Run, Shell } from '../shell/shell.ts';
import { type Describe, describers, type TopicKind } from './describe-found.ts';

type Options = { limit?: string; json?: boolean };
type Found = { time: string; topic: string; partition: number; offset: bigint; what: string };

/** Of one topic, so many of the latest records are shown. */
const USUAL_LIMIT = 20;

export function addInspectCommand(program: Command, shell: Shell, run: Run): void {
  program
    .command('inspect')
    .description('shows where something is, by topic, partition and offset, and what happened to it')
    .argument('<what>', 'a ref, a command id, an event id, an entity or a subscription id')
    .option('--limit <n>', `of each topic the latest n records (default: ${USUAL_LIMIT})`)
    .option('--json', 'print JSON')
    .action(run((what: string, options: Options) => inspect(shell, what, options)));
}

async function inspect(shell: Shell, wanted: string, options: Options): Promise<ExitCode> {
  const limit = ifGiven(options.limit, (text) => wholeNumber('--limit', text, { min: 1 })) ?? USUAL_LIMIT;
  const config = loadCliConfig(shell);
  const { prefix } = config.topics;
  const { commandTopics } = envReader(shell.source).read(commandTopicSettings(prefix));
  const kafka = connectKafka(config);
  const describe = describers(createWriterReader(connectRegistry(config)));
  const found: Found[] = [];
  for (const [topic, kind] of await topicsToLookAt(kafka, prefix, commandTopics)) {
    const { latest, earlier } = await lookThrough(kafka, topic, { wanted, describe: describe[kind], limit });
    found.push(...latest);
    if (earlier > 0) shell.note(`${topic} holds ${earlier} earlier: --limit shows more`);
  }
  printRows(
    shell,
    options.json === true,
    found.sort((a, b) => (a.time < b.time ? -1 : 1)),
  );
  return found.length > 0 ? 0 : 1;
}

/** Command topics, and every topic of the prefix that there is. */
async function topicsToLookAt(
  kafka: KafkaAccess,
  prefix: string,
  commandTopics: readonly string[],
): Promise<Map<string, TopicKind>> {
  const there = await withAdmin(kafka.client, (admin) => admin.listTopics());
  const own = new Map<string, TopicKind>([
    [topicName(prefix, OWN_TOPICS.commands), 'command'],
    [topicName(prefix, OWN_TOPICS.results), 'result'],
    [topicName(prefix, OWN_TOPICS.subscriptions), 'state'],
    [topicName(prefix, OWN_TOPICS.deadLetter), 'dead letter'],
  ]);
  const events = there.filter((topic) => topic.startsWith(`${prefix}.`) && !own.has(topic));
  for (const topic of events) own.set(topic, 'event');
  for (const topic of commandTopics) own.set(topic, 'command');
  return new Map([...own].filter(([topic]) => there.includes(topic)));
}

async function lookThrough(
  kafka: CliKafka,
  topic: string,
  of: { wanted: string; describe: Describe; limit: number },
): Promise<{ latest: Found[]; earlier: number }> {
  const reader = await openTopicReader({ kafka: kafka.client, topic, groupId: kafka.newGroupId() });
  const found: Promise<Found | null>[] = [];
  try {
    await reader.read(await reader.span(), (record) => {
      const { partition, offset, timestamp } = record;
      const time = new Date(timestamp).toISOString();
      const told = of.describe(record, of.wanted);
      found.push(told.then((what) => (what === null ? null : { time, topic, partition, offset, what })));
    });
  } finally {
    await reader.stop();
  }
  const all = (await Promise.all(found)).filter((one) => one !== null);
  const latest = all.sort((a, b) => (a.time < b.time ? -1 : 1)).slice(-of.limit);
  return { latest, earlier: all.length - latest.length };
}
