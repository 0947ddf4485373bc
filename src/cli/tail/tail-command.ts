import type { Command } from 'commander';
import { referenceIn } from '../../avro/envelope.ts';
import { createWriterReader } from '../../avro/record-reader.ts';
import { UsageError } from '../../core/errors.ts';
import { topicName } from '../../core/names.ts';
import { recordName } from '../../core/record.ts';
import { missingTopics, withAdmin } from '../../kafka/admin/describe-topics.ts';
import { followTopic } from '../../kafka/consume/topic-follower.ts';
import type { KafkaAccess } from '../../kafka/open-kafka.ts';
import { orAborted } from '../../runtime/or-aborted.ts';
import {
  CLI_GROUPS,
  type Config,
  connectBodyStore,
  connectKafka,
  connectRegistry,
  loadConfig,
} from '../shell/connections.ts';
import { createMask, REVEAL_HELP } from '../shell/mask.ts';
import { ifGiven, instant, wholeNumber } from '../shell/option-values.ts';
import { jsonValue, visible } from '../shell/print-rows.ts';
import { watchReadErrors } from '../shell/read-own-topics.ts';
import type { ExitCode, Run, Shell } from '../shell/shell.ts';
import { type Described, decodeValue, describeEvent } from './describe-event.ts';

/** After the end of the topic was read, and before its user is told that the command waits: with --limit it has mostly ended by then. */
const WAITING_MS = 3_000;

type Options = {
  fromBeginning?: boolean;
  since?: string;
  limit?: string;
  key?: string;
  json?: boolean;
  reveal?: boolean;
  fetch?: boolean;
};

export function addTailCommand(program: Command, shell: Shell, run: Run): void {
  program
    .command('tail')
    .description('prints the records of a topic as they arrive: decoded, with headers')
    .argument('<topic>', 'full name, or the part after TOPIC_PREFIX')
    .option('--from-beginning', 'starts with the oldest record')
    .option(
      '--since <time>',
      'starts with records written since a time (2026-11-21T08:00:00Z) or an age (90s, 30m, 2h, 7d)',
    )
    .option('--limit <n>', 'ends after n records')
    .option('--key <key>', 'only records with this key')
    .option('--json', 'print a JSON object per line')
    .option('--reveal', REVEAL_HELP)
    .option('--fetch', 'fetches the messages that events refer to from the object store, and verifies them')
    .action(run((topic: string, options: Options) => tail(shell, topic, options)));
}

async function tail(shell: Shell, given: string, options: Options): Promise<ExitCode> {
  const limit =
    ifGiven(options.limit, (text) => wholeNumber('--limit', text, { min: 1 })) ?? Number.POSITIVE_INFINITY;
  const begin = beginning(options);
  const config = loadConfig(shell, ...CLI_GROUPS, 'bodyStore', 'commands');
  const kafka = connectKafka(config);
  const topic = await orAborted(findTopic(kafka, config.topics.prefix, given), shell.signal);
  const mask = createMask(config, options.reveal === true);
  await using bodies = await openBodies(config, options);
  const read = createWriterReader(connectRegistry(config));
  const end = Promise.withResolvers<void>();
  shell.signal.addEventListener('abort', () => end.resolve());
  if (shell.signal.aborted) end.resolve();
  let shown = 0;
  let unread = 0;
  const reading = watchReadErrors(shell, topic);
  const following = followTopic({
    openTopic: kafka.openTopic,
    clock: kafka.clock,
    topic,
    opening: shell.signal,
    ...begin,
    onBrokenOff: reading.onError,
    onRecord: async (record) => {
      if (shown >= limit || (options.key !== undefined && record.key?.toString() !== options.key)) return;
      shown++;
      const decoded = await decodeValue(record.value, read);
      if (decoded.schemaFault !== undefined && unread++ === 0) shell.note(decoded.schemaFault);
      const { fetched, ...message } = (await bodies.fetch?.(decoded.value)) ?? {};
      const described = describeEvent(record, { ...decoded, ...message }, mask);
      // Waits for a slow reader: what it has not read yet would be held.
      await shell.write(Buffer.from(`${show(withOutcome(described, fetched), options.json === true)}\n`));
      if (shown >= limit) end.resolve();
    },
  });
  const follower = await orAborted(following, shell.signal);
  shell.note(`following ${topic}; Ctrl-C ends`);
  const reader = new AbortController();
  // Nothing on standard output shows that it waits: all is read, and maybe nothing matched.
  const tellWaiting = async () => {
    await follower.caughtUp(reader.signal);
    await kafka.clock.sleep(WAITING_MS, { signal: reader.signal });
    shell.note(`read to the end, ${shown} record(s) shown: waiting for new ones`);
  };
  tellWaiting().catch(() => {});
  try {
    await Promise.race([end.promise, reading.forbidden]);
    if (unread > 0) shell.note(`${unread} record(s) are not decoded: their schemas could not be fetched`);
    return unread > 0 ? 1 : 0;
  } finally {
    reader.abort();
    await follower.stop();
  }
}

/** An event with the message that it refers to, and whether that is verified or why it is missing. */
type Fetched = { readonly value: object; readonly fetched: string };

/** With --fetch, what fetches the message of an event; undefined where the event refers to none. */
async function openBodies(
  config: Config<'bodyStore'>,
  { fetch }: Options,
): Promise<AsyncDisposable & { readonly fetch?: (value: unknown) => Promise<Fetched | undefined> }> {
  if (!fetch) return { [Symbol.asyncDispose]: async () => {} };
  const bodies = await connectBodyStore(config);
  if (!bodies) throw new UsageError('--fetch needs BODY_STORE: set it as the ingress has it.');
  return {
    async fetch(value) {
      const reference = referenceIn(value);
      if (!reference) return;
      // The record is shown all the same, and the next ones.
      const message = await bodies.read(reference).catch((error: Error) => error);
      const fetched = Buffer.isBuffer(message) ? 'verified' : message.message;
      const source = Buffer.isBuffer(message) ? message.toString() : null;
      return { value: { ...(value as object), source }, fetched };
    },
    [Symbol.asyncDispose]: async () => bodies.close(),
  };
}

/** Behind the mask: `fetched` is no field of the record. */
function withOutcome(described: Described, fetched: string | undefined): Described {
  const { value } = described;
  if (fetched === undefined || typeof value !== 'object') return described;
  return { ...described, value: { ...value, fetched } };
}

/** Where the follower starts; by default at the beginning. */
function beginning({ fromBeginning, since }: Options): { from?: 'now' | number } {
  if (since === undefined) return fromBeginning ? {} : { from: 'now' };
  if (fromBeginning) throw new UsageError('--since and --from-beginning: give one of them.');
  return { from: instant(`--since ${since}`, since) };
}

/** The topic with this full name, or with this name after the prefix. */
async function findTopic(kafka: KafkaAccess, prefix: string, given: string): Promise<string> {
  const names = [topicName(prefix, given), given];
  const missing = await withAdmin(kafka.client, (admin) => missingTopics(admin, names));
  const found = names.find((name) => !missing.includes(name));
  if (found === undefined) throw new UsageError(`no topic is named ${names.join(' or ')}.`);
  return found;
}

function show(record: Described, json: boolean): string {
  if (json) return visible(JSON.stringify(record, jsonValue));
  const { time, key, headers, value } = record;
  const head = `${recordName(record)}  ${time}  key ${key}`;
  const lines = Object.entries(headers).map(([name, text]) => `  ${name}: ${text}`);
  const text = [head, ...lines].map((line) => line.replaceAll('\n', '\\n'));
  return visible([...text, indent(JSON.stringify(value, jsonValue, 2)), ''].join('\n'));
}

const indent = (text: string) => text.replaceAll(/^/gm, '  ');
