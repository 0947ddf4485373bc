import { readEventSchemas } from '../../avro/event-schema.ts';
import { createRecordReader, createWriterReader, type RecordReader } from '../../avro/record-reader.ts';
import { resolveSchemaIds } from '../../avro/resolve-ids.ts';
import { readCommandSchemas, readSchemaFiles } from '../../avro/schema-files.ts';
import { OWN_TOPICS, topicName } from '../../core/names.ts';
import type { OutgoingRecord, Position } from '../../core/record.ts';
import { readSealingKeys } from '../../crypto/sealing.ts';
import { ClaimCheck, objectFirst } from '../../delivery/claim-check.ts';
import { createEventRoutes } from '../../delivery/event-routes.ts';
import { bodySealingOf, deliveryTopics, openDelivery } from '../../delivery/open-delivery.ts';
import type { DeliveryPorts } from '../../delivery/ports.ts';
import { checkTopics } from '../../kafka/admin/watch-safety.ts';
import { type KafkaAccess, openPublisher } from '../../kafka/open-kafka.ts';
import { openKeyring } from '../../subscriptions/open-keyring.ts';
import { CLI_GROUPS, type Config, connectBodyStore, connectRegistry } from './connections.ts';
import { watchReadErrors } from './read-own-topics.ts';
import type { Shell } from './shell.ts';

/** Publishes deliveries of the dead-letter topic or of a spool: as ingress does, by the same variables. */
export type Redelivery = {
  readonly delivery: DeliveryPorts;
  /** Publishes a record whose object, if it has one, is stored. */
  readonly send: (record: OutgoingRecord) => Promise<Position>;
  /** Publishes by `send`, what a record refers to before it. */
  readonly storing: (send: Redelivery['send']) => DeliveryPorts['publish'];
  /** Decodes a record by its writer's schema. */
  readonly readAvro: RecordReader;
  /** Full names. */
  readonly commandTopics: readonly string[];
  stop(): Promise<void>;
};

export const REDELIVERY_GROUPS = [
  ...CLI_GROUPS,
  'subscriptions',
  'delivery',
  'commands',
  'bodyStore',
] as const;

type RedeliveryConfig = Config<(typeof REDELIVERY_GROUPS)[number]>;

/** More than the bodies in memory at a time can need, together with their events. */
const BACKLOG_BYTES = 1024 * 1024 * 1024;

export async function openRedelivery(
  shell: Shell,
  config: RedeliveryConfig,
  kafka: KafkaAccess,
  {
    publishDeadlineMs,
    commandTopics = config.commands.topics.map(({ name }) => name),
  }: {
    readonly publishDeadlineMs: number;
    /** Full names; none for who has no right to them, such as ingress. */
    readonly commandTopics?: readonly string[];
  },
): Promise<Redelivery> {
  const { prefix } = config.topics;
  const stateTopic = topicName(prefix, OWN_TOPICS.subscriptions);
  const events = readEventSchemas(readSchemaFiles(config.schemas.dir, 'events'));
  const { subscription } = readCommandSchemas(readSchemaFiles(config.schemas.dir, 'commands'));
  const registry = connectRegistry(config);
  const ids = await resolveSchemaIds(registry, prefix, [...events.registered, subscription]);
  const routes = createEventRoutes(events, prefix, ids);
  await checkTopics(kafka.client, [...deliveryTopics(routes, prefix), ...commandTopics, stateTopic]);
  const readSubscription = createRecordReader(subscription.codec, ids.of(subscription), registry);
  const keys = await openKeys(shell, config, kafka, stateTopic, readSubscription);
  const bodies = await connectBodyStore(config).catch(async (error) => {
    await keys.stop();
    throw error;
  });
  const sealingKeys = readSealingKeys(config.subscriptions.sealingKeyFile);
  const { ports, publisher, limits } = openDelivery({
    ...{ routes, prefix, layout: config.delivery.layout, moreTopics: commandTopics },
    encryptionKeysOf: (ref) => keys.keyring.encryptionKeysOf(ref),
    openPublisher: (topics) =>
      openPublisher(kafka, topics, {
        backlogBytes: BACKLOG_BYTES,
        observer: { attempt() {}, confirmed() {}, sessionOpened() {}, troubleChanged() {} },
      }),
    observer: { keyMatched() {}, drift() {}, unclassified() {}, deadLettered() {} },
    claims: bodies && new ClaimCheck(bodies, config.bodyStore.claimCheckBytes),
    bodySealing: bodySealingOf(events, { sealingKeys, hasBodyStore: bodies !== undefined }),
  });
  await limits.renew();
  const send = (record: OutgoingRecord) => publisher.publish(record, publishDeadlineMs);
  const storing: Redelivery['storing'] = (by) => objectFirst(ports.claims, by);
  return {
    delivery: { ...ports, publish: storing(send) },
    ...{ send, storing },
    readAvro: createWriterReader(registry),
    commandTopics,
    async stop() {
      await publisher.stop();
      bodies?.close();
      await keys.stop();
    },
  };
}

/**
 * The keys as ingress has them, except that keys of a deleted subscription do not expire: its deliveries were verified
 * when they arrived.
 */
async function openKeys(
  shell: Shell,
  { subscriptions: { secretsDir, sealingKeyFile } }: RedeliveryConfig,
  kafka: KafkaAccess,
  topic: string,
  read: RecordReader,
) {
  if (secretsDir === undefined && sealingKeyFile === undefined) {
    shell.note('SECRETS_DIR and SEALING_KEY_FILE are both unset: no sealed body can be opened.');
  }
  const reading = watchReadErrors(shell, topic);
  const noteOf = (what: string) => (error: unknown, at: string) =>
    shell.note(`The subscription record ${at} ${what}: ${(error as Error).message}`);
  const keys = await openKeyring({
    ...{ secretsDir, topic, read, openTopic: kafka.openTopic },
    retiredKeysTtlMs: Number.MAX_SAFE_INTEGER,
    sealingKeys: readSealingKeys(sealingKeyFile),
    open: (attempt) => attempt(),
    stopping: shell.signal,
    clock: kafka.clock,
    observer: {
      secretsRead() {},
      secretsFaulty: (ref, error) => shell.note(`The secrets of ${ref} cannot be used: ${error.message}`),
      sealed: (ref) => shell.note(`No key of SEALING_KEY_FILE opens the sealed secrets of ${ref}.`),
      awaited: noteOf('cannot be read yet'),
      unreadable: noteOf('cannot be read'),
      brokenOff: reading.onError,
    },
  });
  await Promise.race([keys.topicRead, reading.forbidden]).catch(async (error) => {
    await keys.stop();
    throw error;
  });
  return keys;
}
