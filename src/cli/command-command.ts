import type { Command as Program } from 'commander';
import { readCommandSchemas } from '../avro/command-schemas.ts';
import { createRecordReader } from '../avro/record-reader.ts';
import { resolveSchemaIds } from '../avro/resolve-ids.ts';
import { readSchemaFiles } from '../avro/schema-files.ts';
import { COMMAND_TYPES } from '../core/command.ts';
import { OWN_TOPICS, topicName } from '../core/topics.ts';
import { newId } from '../crypto/new-id.ts';
import type { KafkaAccess } from '../kafka/open-kafka.ts';
import { followTopic } from '../kafka/topic-follower.ts';
import { type CliConfig, connectKafka, connectRegistry, loadCliConfig, ownGroup } from './connections.ts';
import { printRows } from './print-rows.ts';
import { publishOnce } from './publish-once.ts';
import { type ExitCode, type Run, type Shell, UsageError } from './shell.ts';

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
    .description(`sends a command to control: ${COMMAND_TYPES.join(', ')}`)
    .argument('<type>', 'what to do')
    .option('--ref <ref>', 'name of the subscription')
    .option('--events <list>', 'events, separated by commas', texts)
    .option('--execution-ids <list>', 'webhook runs to replay, separated by commas', texts)
    .option('--extra <json>', 'JSON object whose fields join the request body')
    .option('--issued-by <name>', 'who sends it')
    .option('--expires-in <seconds>', 'not carried out after so long')
    .option('--dry-run', 'validates and changes nothing')
    .option('--command-id <id>', 'its id; a new UUID by default')
    .option('--topic <name>', 'full name of the command topic; {TOPIC_PREFIX}.commands by default')
    .option('--wait', 'waits for the result; exit code 1 unless it SUCCEEDED')
    .option('--timeout <seconds>', 'how long --wait waits', '60')
    .option('--json', 'print JSON')
    .action(run((type: string, options: Options) => sendCommand(shell, type, options)));
}

async function sendCommand(shell: Shell, type: string, options: Options): Promise<ExitCode> {
  const config = loadCliConfig(shell);
  const kafka = connectKafka(config);
  const command = commandOf(type, options);
  const topic = options.topic ?? topicName(config.topics.prefix, OWN_TOPICS.commands);
  const result = options.wait
    ? await expectResult(shell, config, kafka, command.commandId, seconds('--timeout', options.timeout))
    : null;
  try {
    const value = Buffer.from(JSON.stringify(command));
    const key = Buffer.from(command.ref ?? command.commandId);
    const [position] = await publishOnce(kafka, [{ topic, key, value, headers: new Map() }]);
    if (!result) {
      printRows(shell, options.json === true, [{ commandId: command.commandId, ...position }]);
      return 0;
    }
    shell.note(`sent ${command.commandId}, waiting for its result ...`);
    const answer = await result.promise;
    printRows(shell, options.json === true, [answer]);
    return answer.status === 'SUCCEEDED' ? 0 : 1;
  } finally {
    await result?.stop();
  }
}

function commandOf(type: string, options: Options) {
  const now = Date.now();
  const expiresIn = options.expiresIn === undefined ? undefined : seconds('--expires-in', options.expiresIn);
  return {
    commandId: options.commandId ?? newId(),
    type,
    ref: options.ref,
    events: options.events,
    executionIds: options.executionIds,
    extra: options.extra === undefined ? undefined : parseExtra(options.extra),
    issuedBy: options.issuedBy,
    issuedAt: new Date(now).toISOString(),
    expiresAt: expiresIn === undefined ? undefined : new Date(now + expiresIn * 1_000).toISOString(),
    dryRun: options.dryRun,
  };
}

function parseExtra(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new UsageError('--extra is no JSON: give an object such as {"description":"ledger"}.');
  }
}

function seconds(option: string, text: string): number {
  const number = Number(text);
  if (!(number > 0)) throw new UsageError(`${option} is ${JSON.stringify(text)}: give seconds.`);
  return number;
}

/** Listens for a command's result before the command is sent, so that none is missed. */
async function expectResult(
  shell: Shell,
  config: CliConfig,
  kafka: KafkaAccess,
  commandId: string,
  timeoutS: number,
) {
  const { result } = readCommandSchemas(readSchemaFiles(config.schemas.dir, 'commands'));
  const registry = connectRegistry(config);
  const ids = await resolveSchemaIds(registry, config.topics.prefix, [result]);
  const read = createRecordReader(result.codec, ids.of(result), registry);
  const { promise, resolve, reject } = Promise.withResolvers<Record<string, unknown>>();
  promise.catch(() => {});
  const timer = setTimeout(() => {
    reject(new Error(`no result within ${timeoutS} s: is control running, and does it read this topic?`));
  }, timeoutS * 1_000);
  shell.signal.addEventListener('abort', () => reject(new Error('interrupted; the command stays sent')));
  const follower = await followTopic({
    kafka: kafka.client,
    topic: topicName(config.topics.prefix, OWN_TOPICS.results),
    newGroupId: ownGroup,
    onlyNew: true,
    onRecord: async ({ key, value }) => {
      if (key?.toString() === commandId && value) resolve(await read(value));
    },
  });
  return {
    promise,
    async stop() {
      clearTimeout(timer);
      await follower.stop();
    },
  };
}
