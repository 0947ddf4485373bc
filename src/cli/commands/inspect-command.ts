import type { Command } from 'commander';
import { createWriterReader, type RecordReader } from '../../avro/record-reader.ts';
import { OWN_TOPICS, topicName } from '../../core/names.ts';
import type { IncomingRecord } from '../../core/record.ts';
import { DEAD_LETTER_HEADERS as NAMES } from '../../delivery/dead-letter/store-dead-letter.ts';
import { withAdmin } from '../../kafka/admin/describe-topics.ts';
import { openRanges } from '../../kafka/consume/topic-follower.ts';
import type { KafkaAccess } from '../../kafka/open-kafka.ts';
import { StateFence } from '../../subscriptions/state-fence.ts';
import {
  CLI_GROUPS,
  type CliKafka,
  connectKafka,
  connectRegistry,
  loadConfig,
} from '../shell/connections.ts';
import { ifGiven, wholeNumber } from '../shell/option-values.ts';
import { printRows } from '../shell/print-rows.ts';
import type { ExitCode, Run, Shell } from '../shell/shell.ts';

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
  const config = loadConfig(shell, ...CLI_GROUPS, 'commands');
  const { prefix } = config.topics;
  const commandTopics = config.commands.topics.map(({ name }) => name);
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
  const reader = await openRanges({
    kafka: kafka.client,
    topic,
    newGroupId: kafka.newGroupId,
    clock: kafka.clock,
  });
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

/** What kind of topic a record stands in. */
type TopicKind = 'command' | 'result' | 'state' | 'dead letter' | 'event';

/** What a record says of what is looked for, in words; null where it is about something else. */
export type Describe = (record: IncomingRecord, wanted: string) => Promise<string | null>;

type Fields = Readonly<Record<string, unknown>>;

/** By kind of topic: whether a record is about a ref, a command's id, an event's id or an entity, and what happened. */
export function describers(read: RecordReader): Readonly<Record<TopicKind, Describe>> {
  const fieldsOf = async (value: Buffer | null, wanted: string): Promise<Fields | null> => {
    // Texts stand in JSON and in Avro as they are: what doesn't hold it needs no decoding.
    if (!value?.includes(wanted)) return null;
    try {
      return scalarsOf(value[0] === 0 ? await read(value) : JSON.parse(value.toString()));
    } catch {
      return null;
    }
  };
  const fence = new StateFence();
  const isAbout = (fields: Fields | null, wanted: string): fields is Fields =>
    fields !== null && [fields.commandId, fields.ref, fields.subscriptionId].includes(wanted);
  return {
    async command({ value }, wanted) {
      const fields = await fieldsOf(value, wanted);
      return isAbout(fields, wanted)
        ? inWords([fields.type, by(fields.issuedBy), id(fields.commandId)])
        : null;
    },
    async result({ value }, wanted) {
      const fields = await fieldsOf(value, wanted);
      if (!isAbout(fields, wanted)) return null;
      const {
        status,
        errorCode,
        message,
        attempts,
        commandId,
        commandTopic,
        commandPartition,
        commandOffset,
      } = fields;
      // Drift is told of no command.
      const of = commandTopic && `of ${commandTopic}[${commandPartition}]@${commandOffset}`;
      return inWords([status, errorCode, `${message}`, `${attempts} request(s)`, of, id(commandId)]);
    },
    async state(record, wanted) {
      // At once, while the records come in their order.
      const verdict = fence.judge(record);
      if (verdict === 'own') return null;
      const { key, value } = record;
      const late = verdict === 'fenced' && 'does not count: a process wrote it whose place another had taken';
      const fields = await fieldsOf(value, wanted);
      if (value === null) return key?.toString() === wanted ? inWords(['forgotten', late]) : null;
      if (!isAbout(fields, wanted)) return null;
      const by = `written by command ${fields.commandId}`;
      return inWords([fields.state, fields.subscriptionId, by, late]);
    },
    async event({ key, headers }, wanted) {
      const { ce_id: eventId, ce_type: type, ce_source: source } = headers;
      const isWanted =
        [key?.toString(), eventId, headers.ce_subject].includes(wanted) || source === `/webhooks/${wanted}`;
      const redriven = headers[NAMES.redrivenFrom];
      return isWanted
        ? inWords([
            type,
            `entity ${headers.ce_subject ?? '-'}`,
            source,
            id(eventId),
            redriven && `redriven from ${redriven}`,
          ])
        : null;
    },
    async 'dead letter'({ key, headers }, wanted) {
      const about = [NAMES.eventId, NAMES.ref, NAMES.commandId, NAMES.subscriptionId].map(
        (name) => headers[name],
      );
      if (![key?.toString(), ...about].includes(wanted)) return null;
      const to = headers[NAMES.redrivenTo];
      if (to !== undefined) return inWords([`redriven to ${to}`, id(headers[NAMES.eventId])]);
      const why = inWords([headers[NAMES.stage], headers[NAMES.code], headers[NAMES.message]]);
      return inWords([why, id(headers[NAMES.eventId] ?? headers[NAMES.commandId])]);
    },
  };
}

/** What is told are texts and numbers. An object in their place may not even become a text: `{"toString":null}`. */
function scalarsOf(fields: unknown): Fields | null {
  if (typeof fields !== 'object' || fields === null) return null;
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => typeof value !== 'object'));
}

const by = (issuer: unknown) => issuer && `by ${issuer}`;
const id = (value: unknown) => value && `id ${value}`;
const inWords = (parts: readonly unknown[]) =>
  parts.filter((part) => part !== null && part !== undefined && part !== '' && part !== false).join(', ');
