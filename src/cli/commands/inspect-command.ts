import type { Command } from 'commander';
import { createWriterReader, type RecordReader } from '../../avro/record-reader.ts';
import { OWN_TOPICS, topicName } from '../../core/names.ts';
import type { IncomingRecord } from '../../core/record.ts';
import { DEAD_LETTER_HEADERS as NAMES } from '../../delivery/dead-letter/dead-letter-headers.ts';
import { withAdmin } from '../../kafka/admin/describe-topics.ts';
import { openRanges } from '../../kafka/consume/range-reader.ts';
import type { KafkaAccess } from '../../kafka/open-kafka.ts';
import { StateFence } from '../../subscriptions/state-fence.ts';
import { CLI_GROUPS, connectKafka, connectRegistry, loadConfig } from '../shell/connections.ts';
import { createMask, type Mask, REVEAL_HELP } from '../shell/mask.ts';
import { ifGiven, wholeNumber } from '../shell/option-values.ts';
import { printRows } from '../shell/print-rows.ts';
import type { ExitCode, Run, Shell } from '../shell/shell.ts';

type Options = { limit?: string; json?: boolean; reveal?: boolean };
type Found = { time: string; topic: string; partition: number; offset: bigint; what: string };

/** Records that are shown of one topic: the latest ones. */
const DEFAULT_LIMIT = 20;

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
  const limit = ifGiven(options.limit, (text) => wholeNumber('--limit', text, { min: 1 })) ?? DEFAULT_LIMIT;
  const config = loadConfig(shell, ...CLI_GROUPS, 'commands');
  const { prefix } = config.topics;
  const commandTopics = config.commands.topics.map(({ name }) => name);
  const kafka = connectKafka(config);
  const mask = createMask(config, options.reveal === true);
  const describe = describers(createWriterReader(connectRegistry(config)), mask);
  const found: Found[] = [];
  for (const [topic, kind] of await topicsToSearch(kafka, prefix, commandTopics)) {
    const { latest, earlier } = await searchTopic(kafka, topic, { wanted, describe: describe[kind], limit });
    found.push(...latest);
    if (earlier > 0) shell.note(`${topic} has ${earlier} earlier record(s) about it: --limit shows more`);
  }
  printRows(
    shell,
    options.json === true,
    found.sort((a, b) => (a.time < b.time ? -1 : 1)),
  );
  return found.length > 0 ? 0 : 1;
}

/** The command topics and all existing topics with the prefix, each with its kind. */
async function topicsToSearch(
  kafka: KafkaAccess,
  prefix: string,
  commandTopics: readonly string[],
): Promise<Map<string, TopicKind>> {
  const existing = await withAdmin(kafka.client, (admin) => admin.listTopics());
  const own = new Map<string, TopicKind>([
    [topicName(prefix, OWN_TOPICS.commands), 'command'],
    [topicName(prefix, OWN_TOPICS.results), 'result'],
    [topicName(prefix, OWN_TOPICS.subscriptions), 'state'],
    [topicName(prefix, OWN_TOPICS.deadLetter), 'dead letter'],
  ]);
  const events = existing.filter((topic) => topic.startsWith(`${prefix}.`) && !own.has(topic));
  for (const topic of events) own.set(topic, 'event');
  for (const topic of commandTopics) own.set(topic, 'command');
  return new Map([...own].filter(([topic]) => existing.includes(topic)));
}

async function searchTopic(
  kafka: KafkaAccess,
  topic: string,
  of: { wanted: string; describe: Describe; limit: number },
): Promise<{ latest: Found[]; earlier: number }> {
  const reader = await openRanges({ ...kafka, topic });
  const found: Promise<Found | null>[] = [];
  try {
    await reader.read(await reader.span(), (record) => {
      const { partition, offset, timestamp } = record;
      const time = new Date(timestamp).toISOString();
      const described = of.describe(record, of.wanted);
      found.push(described.then((what) => (what === null ? null : { time, topic, partition, offset, what })));
    });
  } finally {
    await reader.stop();
  }
  const all = (await Promise.all(found)).filter((one) => one !== null);
  const latest = all.sort((a, b) => (a.time < b.time ? -1 : 1)).slice(-of.limit);
  return { latest, earlier: all.length - latest.length };
}

/** The kind of topic that a record is in. */
type TopicKind = 'command' | 'result' | 'state' | 'dead letter' | 'event';

/** What the record says about what is searched for; null if it is about something else. */
export type Describe = (record: IncomingRecord, wanted: string) => Promise<string | null>;

type Fields = Readonly<Record<string, unknown>>;

/** By kind of topic: decides whether a record is about the ref, id or entity, and describes it. */
export function describers(read: RecordReader, mask: Mask): Readonly<Record<TopicKind, Describe>> {
  const fieldsOf = async (value: Buffer | null, wanted: string): Promise<Fields | null> => {
    // Both JSON and Avro contain texts as they are: a value without this text needs no decoding.
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
        ? joinTexts([fields.type, by(fields.issuedBy), id(fields.commandId)])
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
      // Drift that control reports on its own is caused by no command.
      const of = commandTopic && `of ${commandTopic}[${commandPartition}]@${commandOffset}`;
      return joinTexts([status, errorCode, `${message}`, `${attempts} request(s)`, of, id(commandId)]);
    },
    async state(record, wanted) {
      // Before any await: the fence must see the records in their order.
      const verdict = fence.check(record);
      if (verdict === 'own') return null;
      const { key, value } = record;
      const late = verdict === 'fenced' && 'ignored: written by a process that had been replaced';
      const fields = await fieldsOf(value, wanted);
      if (value === null) return key?.toString() === wanted ? joinTexts(['forgotten', late]) : null;
      if (!isAbout(fields, wanted)) return null;
      const by = `written by command ${fields.commandId}`;
      return joinTexts([fields.state, fields.subscriptionId, by, late]);
    },
    async event({ topic, key, headers }, wanted) {
      const { ce_id: eventId, ce_type: type, ce_source: source } = headers;
      const isWanted =
        [key?.toString(), eventId, headers.ce_subject].includes(wanted) || source === `/webhooks/${wanted}`;
      const redriven = headers[NAMES.redrivenFrom];
      const entityId = headers.ce_subject === undefined ? '-' : mask.entity(topic, headers.ce_subject);
      return isWanted
        ? joinTexts([
            type,
            `entity ${entityId}`,
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
      if (to !== undefined) return joinTexts([`redriven to ${to}`, id(headers[NAMES.eventId])]);
      const why = joinTexts([headers[NAMES.stage], headers[NAMES.code], headers[NAMES.message]]);
      return joinTexts([why, id(headers[NAMES.eventId] ?? headers[NAMES.commandId])]);
    },
  };
}

/** Only texts and numbers are shown. An object may not even convert to a text: `{"toString":null}`. */
function scalarsOf(fields: unknown): Fields | null {
  if (typeof fields !== 'object' || fields === null) return null;
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => typeof value !== 'object'));
}

const by = (issuer: unknown) => issuer && `by ${issuer}`;
const id = (value: unknown) => value && `id ${value}`;
const joinTexts = (texts: readonly unknown[]) =>
  texts.filter((text) => text !== null && text !== undefined && text !== '' && text !== false).join(', ');
