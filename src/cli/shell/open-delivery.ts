import { readEventSchemas } from '../../avro/event-schema.ts';
import { createRecordReader, createWriterReader, type RecordReader } from '../../avro/record-reader.ts';
import { resolveSchemaIds } from '../../avro/resolve-ids.ts';
import { readCommandSchemas, readSchemaFiles } from '../../avro/schema-files.ts';
import { OWN_TOPICS, topicName } from '../../core/names.ts';
import { readSealingKeys } from '../../crypto/sealing.ts';
import { createEventRoutes } from '../../delivery/event-routes.ts';
import { deliveryTopics, openDelivery } from '../../delivery/open-delivery.ts';
import type { DeliveryPorts } from '../../delivery/ports.ts';
import { checkTopics } from '../../kafka/admin/watch-safety.ts';
import { openPublisher } from '../../kafka/open-kafka.ts';
import { openKeyring } from '../../subscriptions/open-keyring.ts';
import { type CliKafka, connectRegistry, type DeliveryConfig } from './connections.ts';
import { watchReading } from './read-own-topics.ts';
import type { Shell } from './shell.ts';

/** What dead letters and a spool's deliveries are sent with: the same as ingress, by the same variables. */
export type DeliverySide = {
  readonly delivery: DeliveryPorts;
  /** Reads a record by its writer's schema, where the registry has that. */
  readonly readAvro: RecordReader;
  readonly commandTopics: readonly string[];
  stop(): Promise<void>;
};

/** More than a portion of dead letters can be, with what their events weigh. */
const BACKLOG_BYTES = 1024 * 1024 * 1024;

export async function openDeliverySide(
  shell: Shell,
  config: DeliveryConfig,
  kafka: CliKafka,
  publishDeadlineMs: number,
): Promise<DeliverySide> {
  const { prefix } = config.topics;
  const named = (topic: string) => topicName(prefix, topic);
  const events = readEventSchemas(readSchemaFiles(config.schemas.dir, 'events'));
  const { subscription } = readCommandSchemas(readSchemaFiles(config.schemas.dir, 'commands'));
  const registry = connectRegistry(config);
  const ids = await resolveSchemaIds(registry, prefix, [...events.all, subscription]);
  const routes = createEventRoutes(events, prefix, ids);
  const { commandTopics } = config.commands;
  await checkTopics(kafka.client, [
    ...deliveryTopics(routes, prefix),
    ...commandTopics,
    named(OWN_TOPICS.subscriptions),
  ]);
  const readSubscription = createRecordReader(subscription.codec, ids.of(subscription), registry);
  const { keyring, stop } = await openKeys(
    shell,
    config,
    kafka,
    named(OWN_TOPICS.subscriptions),
    readSubscription,
  );
  const { ports, publisher, limits } = openDelivery({
    ...{ routes, prefix, layout: config.delivery.layout, moreTopics: commandTopics },
    encryptionKeysOf: (ref) => keyring.encryptionKeysOf(ref),
    openPublisher: (topics) =>
      openPublisher(kafka, topics, {
        backlogBytes: BACKLOG_BYTES,
        observer: { attempt() {}, confirmed() {}, sessionOpened() {}, troubleChanged() {} },
      }),
    observer: { keyMatched() {}, drift() {}, unclassified() {}, deadLettered() {} },
  });
  await limits.renew();
  return {
    delivery: { ...ports, publish: (record) => publisher.publish(record, publishDeadlineMs) },
    readAvro: createWriterReader(registry),
    commandTopics,
    async stop() {
      await publisher.stop();
      await stop();
    },
  };
}

/**
 * The keys as ingress gets them, but for one thing: those of a deleted subscription open its dead letters for as long
 * as they are known, as these were verified when they came.
 */
async function openKeys(
  shell: Shell,
  { subscriptions: { secretsDir, sealingKeyFile } }: DeliveryConfig,
  kafka: CliKafka,
  topic: string,
  read: RecordReader,
) {
  if (secretsDir === undefined && sealingKeyFile === undefined) {
    shell.note('SECRETS_DIR and SEALING_KEY_FILE are both unset: no sealed body can be opened.');
  }
  const reading = watchReading(shell, topic, kafka);
  const keys = await openKeyring({
    secretsDir,
    retiredKeysTtlMs: Number.MAX_SAFE_INTEGER,
    sealingKeys: readSealingKeys(sealingKeyFile),
    kafka: kafka.client,
    topic,
    newGroupId: kafka.newGroupId,
    read,
    open: (attempt) => attempt(),
    stopping: shell.signal,
    clock: kafka.clock,
    observer: {
      secretsRead() {},
      secretsFaulty: (ref, error) => shell.note(`The secrets of ${ref} can't be used: ${error.message}`),
      sealed: (ref) => shell.note(`No key of SEALING_KEY_FILE opens the sealed secrets of ${ref}.`),
      awaited: (error, at) =>
        shell.note(`The subscription record ${at} can't be read yet: ${(error as Error).message}`),
      unreadable: (error, at) =>
        shell.note(`The subscription record ${at} can't be read: ${(error as Error).message}`),
      brokenOff: reading.onBrokenOff,
    },
  });
  await Promise.race([keys.topicRead, reading.forbidden]).catch(async (error) => {
    await keys.stop();
    throw error;
  });
  return keys;
}
