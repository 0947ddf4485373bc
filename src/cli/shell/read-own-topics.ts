import { commandSchemasIn } from '../../avro/command-schemas.ts';
import { createOwnReader, type RecordReader } from '../../avro/record-reader.ts';
import { resolveSchemaIds } from '../../avro/resolve-ids.ts';
import { hasCode } from '../../core/errors.ts';
import { OWN_TOPICS, topicName } from '../../core/names.ts';
import type { KafkaAccess } from '../../kafka/open-kafka.ts';
import { orAborted } from '../../runtime/or-aborted.ts';
import { readSubscriptionTable } from '../../subscriptions/state-topic.ts';
import type { SubscriptionRecord } from '../../subscriptions/subscription-record.ts';
import { type CliConfig, connectRegistry } from './connections.ts';
import { describeError, type Shell } from './shell.ts';

export type ReadFailure = {
  /** Rejects if this user may not read the topic: waiting would never end. */
  readonly forbidden: Promise<never>;
  readonly onError: (error: Error) => void;
};

/** Reports errors of reading a topic, which is then retried. A missing right rejects `forbidden` instead. */
export function watchReadErrors(shell: Pick<Shell, 'note'>, topic: string): ReadFailure {
  const forbidden = Promise.withResolvers<never>();
  forbidden.promise.catch(() => {});
  return {
    forbidden: forbidden.promise,
    onError(error) {
      if (hasCode(error, 'KAFKA_REFUSED')) return forbidden.reject(error);
      shell.note(`${topic} cannot be read, trying again: ${describeError(error)}`);
    },
  };
}

/** Decodes records of the topic of results or of subscriptions. */
export async function ownRecordReader(
  config: CliConfig,
  kind: 'result' | 'subscription',
): Promise<RecordReader> {
  const schema = commandSchemasIn(config.schemas.dir)[kind];
  const registry = connectRegistry(config);
  const ids = await resolveSchemaIds(registry, config.topics.prefix, [schema]);
  return createOwnReader(schema.codec, ids.of(schema), registry);
}

/**
 * All records of the compacted topic of subscriptions.
 * @param onUnreadable gets those that are not understood, and those that wait for the registry
 */
export async function readSubscriptions(
  shell: Pick<Shell, 'note' | 'signal'>,
  { config, kafka }: { readonly config: CliConfig; readonly kafka: KafkaAccess },
  onUnreadable = (finding: string) => shell.note(finding),
): Promise<readonly SubscriptionRecord[]> {
  const noteUnreadable = (error: unknown, at: string) =>
    onUnreadable(`The subscription record ${at} cannot be read: ${(error as Error).message}`);
  const topic = topicName(config.topics.prefix, OWN_TOPICS.subscriptions);
  const reading = watchReadErrors(shell, topic);
  const table = await readSubscriptionTable({
    openTopic: kafka.openTopic,
    clock: kafka.clock,
    topic,
    opening: shell.signal,
    read: await orAborted(ownRecordReader(config, 'subscription'), shell.signal),
    onBrokenOff: reading.onError,
    onUnreadable: noteUnreadable,
    onAwaited: noteUnreadable,
    onChange() {},
  });
  try {
    await Promise.race([table.caughtUp(shell.signal), reading.forbidden]);
    return table.all();
  } finally {
    await table.stop();
  }
}
