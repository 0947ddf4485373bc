import { readCommandSchemas } from '../avro/command-schemas.ts';
import { createRecordReader } from '../avro/record-reader.ts';
import { resolveSchemaIds } from '../avro/resolve-ids.ts';
import { readSchemaFiles } from '../avro/schema-files.ts';
import { OWN_TOPICS, topicName } from '../core/topics.ts';
import type { KafkaAccess } from '../kafka/open-kafka.ts';
import { followTopic } from '../kafka/topic-follower.ts';
import { type CliConfig, connectRegistry, ownGroup } from './connections.ts';
import type { Shell } from './shell.ts';

type AwaitedResult = { readonly promise: Promise<Record<string, unknown>>; stop(): Promise<void> };

/** Listens for a command's result before the command is sent, so that none is missed. */
export async function awaitResult(
  shell: Shell,
  config: CliConfig,
  kafka: KafkaAccess,
  commandId: string,
  timeoutMs: number,
): Promise<AwaitedResult> {
  const { result } = readCommandSchemas(readSchemaFiles(config.schemas.dir, 'commands'));
  const registry = connectRegistry(config);
  const ids = await resolveSchemaIds(registry, config.topics.prefix, [result]);
  const read = createRecordReader(result.codec, ids.of(result), registry);
  const { promise, resolve, reject } = Promise.withResolvers<Record<string, unknown>>();
  promise.catch(() => {});
  const follower = await followTopic({
    kafka: kafka.client,
    topic: topicName(config.topics.prefix, OWN_TOPICS.results),
    newGroupId: ownGroup,
    onlyNew: true,
    // One that can't be read is the answer as well: handed back to the follower it would come again for ever.
    onRecord: async ({ key, value }) => {
      if (key?.toString() === commandId && value) await read(value).then(resolve, reject);
    },
  });
  const timer = setTimeout(() => {
    const seconds = timeoutMs / 1_000;
    reject(new Error(`no result within ${seconds} s: is control running, and does it read this topic?`));
  }, timeoutMs);
  const interrupted = () => reject(new Error('interrupted; the command stays sent'));
  if (shell.signal.aborted) interrupted();
  shell.signal.addEventListener('abort', interrupted);
  return {
    promise,
    async stop() {
      clearTimeout(timer);
      shell.signal.removeEventListener('abort', interrupted);
      await follower.stop();
    },
  };
}
