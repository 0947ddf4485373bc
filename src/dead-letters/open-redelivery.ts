import { commandSchemasIn } from '../avro/command-schemas.ts';
import { eventSchemasIn } from '../avro/event-schema.ts';
import { createOwnReader, createWriterReader, type RecordReader } from '../avro/record-reader.ts';
import type { Registry } from '../avro/registry.ts';
import { resolveSchemaIds } from '../avro/resolve-ids.ts';
import { HooklineError, hasCode } from '../core/errors.ts';
import { OWN_TOPICS, topicName } from '../core/names.ts';
import type { OutgoingRecord, Position } from '../core/record.ts';
import type { SealedLayout } from '../crypto/layout.ts';
import { readSealingKeys } from '../crypto/sealing.ts';
import { ClaimCheck, objectFirst } from '../delivery/claim-check.ts';
import { createEventRoutes } from '../delivery/event-routes.ts';
import { bodySealingOf, deliveryTopics, openDelivery } from '../delivery/open-delivery.ts';
import type { DeliveryPorts } from '../delivery/ports.ts';
import { UNOBSERVED_DELIVERIES } from '../delivery/publish-delivery.ts';
import { missingTopics, withAdmin } from '../kafka/admin/describe-topics.ts';
import { checkTopics } from '../kafka/admin/watch-safety.ts';
import { type KafkaAccess, LARGE_RECORDS, openPublisher, UNOBSERVED } from '../kafka/open-kafka.ts';
import type { BodyStore } from '../object-store/body-store.ts';
import { orAborted } from '../runtime/or-aborted.ts';
import { openKeyring } from '../subscriptions/open-keyring.ts';

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
  /** Gives up what is not confirmed, and sends it no more: for who has lost the right to publish. */
  abandon(): void;
  stop(): Promise<void>;
};

/** Values of the environment variables of ingress, by their groups. */
export type RedeliveryConfig = {
  readonly topics: { readonly prefix: string };
  readonly schemas: { readonly dir: string | undefined };
  readonly subscriptions: {
    readonly secretsDir: string | undefined;
    readonly sealingKeyFile: string | undefined;
  };
  readonly delivery: { readonly layout: SealedLayout };
  readonly commands: { readonly topics: readonly { readonly name: string }[] };
  readonly bodyStore: { readonly claimCheckBytes: number };
};

export type RedeliveryDeps = {
  readonly config: RedeliveryConfig;
  readonly kafka: KafkaAccess;
  readonly registry: Registry;
  /** Closed at the stop; undefined without BODY_STORE. */
  readonly bodies: BodyStore | undefined;
  /** After it a record counts as not published. */
  readonly publishDeadlineMs: number;
  /** Full names; those of COMMAND_TOPICS where absent, none for who has no right to them, such as ingress. */
  readonly commandTopics?: readonly string[];
  /** Tells the operator what limits the redelivery, a sentence each. */
  readonly note: (line: string) => void;
  /** Ends the wait for the brokers and for the subscriptions. */
  readonly signal: AbortSignal;
};

/** More than the bodies in memory at a time can need, together with their events. */
const BACKLOG_BYTES = 1024 * 1024 * 1024;

export async function openRedelivery(deps: RedeliveryDeps): Promise<Redelivery> {
  const { config, kafka, registry, bodies, publishDeadlineMs } = deps;
  const wanted = deps.commandTopics ?? config.commands.topics.map(({ name }) => name);
  const { prefix } = config.topics;
  const stateTopic = topicName(prefix, OWN_TOPICS.subscriptions);
  const events = eventSchemasIn(config.schemas.dir);
  const { subscription } = commandSchemasIn(config.schemas.dir);
  const ids = await resolveSchemaIds(registry, prefix, [...events.registered, subscription]);
  const routes = createEventRoutes(events, prefix, ids);
  const topics = [...deliveryTopics(routes, prefix), stateTopic];
  await orAborted(checkTopics(kafka.client, topics), deps.signal);
  // Deliveries are redriven without them.
  const missing = await withAdmin(kafka.client, (admin) => missingTopics(admin, wanted));
  const commandTopics = wanted.filter((topic) => !missing.includes(topic));
  const readSubscription = createOwnReader(subscription.codec, ids.of(subscription), registry);
  const keys = await openKeys(deps, stateTopic, readSubscription);
  const sealingKeys = readSealingKeys(config.subscriptions.sealingKeyFile);
  const { ports, publisher, limits } = openDelivery({
    routes,
    prefix,
    layout: config.delivery.layout,
    moreTopics: commandTopics,
    encryptionKeysOf: (ref) => keys.keyring.decryptionKeysOf(ref),
    openPublisher: (topics) =>
      openPublisher(kafka, topics, {
        backlogBytes: BACKLOG_BYTES,
        attemptMs: LARGE_RECORDS.attemptMs,
        observer: UNOBSERVED,
      }),
    observer: UNOBSERVED_DELIVERIES,
    // What was received weeks ago is dated anew: the store deletes by the age of an object, and its record is a new one.
    claims: bodies && new ClaimCheck(bodies, config.bodyStore.claimCheckBytes, () => kafka.clock.wall()),
    bodySealing: bodySealingOf(events, { sealingKeys, hasBodyStore: bodies !== undefined }),
  });
  await limits.renew();
  let isAbandoned = false;
  // What waited for its object meanwhile is not sent either.
  const send = async (record: OutgoingRecord) => {
    if (isAbandoned) throw new HooklineError('PUBLISHER_CLOSED');
    return publisher.publish(record, publishDeadlineMs);
  };
  const storing: Redelivery['storing'] = (by) => objectFirst(ports.claims, by);
  return {
    delivery: { ...ports, publish: storing(send) },
    send,
    storing,
    readAvro: createWriterReader(registry),
    commandTopics,
    abandon() {
      isAbandoned = true;
      publisher.abandon();
    },
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
async function openKeys({ config, kafka, note, signal }: RedeliveryDeps, topic: string, read: RecordReader) {
  const { secretsDir, sealingKeyFile } = config.subscriptions;
  if (secretsDir === undefined && sealingKeyFile === undefined) {
    note('SECRETS_DIR and SEALING_KEY_FILE are both unset: no sealed body can be opened.');
  }
  const forbidden = Promise.withResolvers<never>();
  forbidden.promise.catch(() => {});
  const noteOf = (what: string) => (error: unknown, at: string) =>
    note(`The subscription record ${at} ${what}: ${(error as Error).message}`);
  const keys = await openKeyring({
    secretsDir,
    topic,
    read,
    openTopic: kafka.openTopic,
    retiredKeysTtlMs: Number.MAX_SAFE_INTEGER,
    sealingKeys: readSealingKeys(sealingKeyFile),
    open: (attempt) => attempt(),
    stopping: signal,
    clock: kafka.clock,
    observer: {
      secretsRead() {},
      secretsFaulty: (ref, error) => note(`The secrets of ${ref} cannot be used: ${error.message}`),
      sealed: (ref) => note(`No key of SEALING_KEY_FILE opens the sealed secrets of ${ref}.`),
      awaited: noteOf('cannot be read yet'),
      unreadable: noteOf('cannot be read'),
      brokenOff(error) {
        // Waiting for a right would never end.
        if (hasCode(error, 'KAFKA_REFUSED')) forbidden.reject(error);
        else note(`${topic} cannot be read, trying again: ${error.message}`);
      },
    },
  });
  await Promise.race([keys.topicRead, forbidden.promise]).catch(async (error) => {
    await keys.stop();
    throw error;
  });
  return keys;
}
