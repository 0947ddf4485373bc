import type { EventSchemaSet } from '../avro/event-schema.ts';
import type { Registry } from '../avro/registry.ts';
import { type RegisteredSchema, resolveIdsOrCached, type SchemaIds } from '../avro/resolve-ids.ts';
import { watchedIds } from '../avro/watch-ids.ts';
import type { RenewalObserver } from '../config/renewed-files.ts';
import { hasCode } from '../core/errors.ts';
import type { SealedLayout } from '../crypto/layout.ts';
import type { SealingKeys } from '../crypto/sealing.ts';
import { ClaimCheck } from '../delivery/claim-check.ts';
import type { EventRoutes } from '../delivery/event-routes.ts';
import {
  bodySealingOf,
  deliveryTopics,
  type OpenDelivery,
  openDelivery,
  watchLimits,
} from '../delivery/open-delivery.ts';
import { type KafkaAccess, observePublishing, openPublisher } from '../kafka/open-kafka.ts';
import type { Publisher } from '../kafka/produce/publisher.ts';
import { observeBodyStore, openBodyStore } from '../object-store/open-body-store.ts';
import type { BodyStoreSettings } from '../object-store/settings.ts';
import type { Metrics } from '../runtime/metrics.ts';
import type { ProcessContext } from '../runtime/process-shell.ts';
import { type CacheFileObserver, cacheFile } from '../runtime/startup-cache.ts';
import type { LiveKeyring } from '../subscriptions/keyring.ts';
import { type CachedRecords, cachedRecords } from '../subscriptions/subscription-record.ts';
import { KeyChanges } from './key-changes.ts';
import { observeDelivery } from './observe-delivery.ts';

/** Bytes of records that may wait for the brokers; more are answered 503. */
const BACKLOG_BYTES = 128 * 1024 * 1024;

/** How many partitions may be slow before the others wait: one that receives a large body is. */
const PUBLISHING_SESSIONS = 8;

export type DeliveryOptions = {
  readonly kafka: KafkaAccess;
  readonly routes: EventRoutes;
  readonly prefix: string;
  readonly layout: SealedLayout;
  readonly bodyStore: BodyStoreSettings;
  readonly bodyStoreAttempts: number | undefined;
  readonly bodySealing: SealingKeys | undefined;
  readonly files: RenewalObserver;
  readonly keyring: LiveKeyring;
  /** Otherwise it starts without them, with the spool. */
  readonly isKafkaReached: boolean;
};

/** The delivery flow of ingress, with its publisher connected where Kafka was reached, and its object store checked. */
export async function startDelivery(
  { kafka, routes, prefix, layout, bodySealing, keyring, isKafkaReached, ...others }: DeliveryOptions,
  context: ProcessContext,
): Promise<OpenDelivery<Publisher>> {
  const { metrics, components, gate } = context;
  const claims = await startClaimCheck(others, context);
  const delivery = openDelivery({
    routes,
    prefix,
    layout,
    claims,
    bodySealing,
    encryptionKeysOf: (ref) => keyring.decryptionKeysOf(ref),
    openPublisher: (topics) =>
      openPublisher(kafka, topics, {
        sessions: PUBLISHING_SESSIONS,
        backlogBytes: BACKLOG_BYTES,
        observer: observePublishing(context),
      }),
    observer: observeDelivery(context, new KeyChanges(keyring)),
  });
  await watchLimits(delivery.limits, context.clock);
  const publisher = components.add('publisher', delivery.publisher);
  const { publishBacklog } = backlogMetrics(metrics);
  metrics.samplers.add(() => publishBacklog.set(publisher.backlogBytes));
  if (isKafkaReached) await gate.pass('the brokers', () => publisher.open(deliveryTopics(routes, prefix)));
  return delivery;
}

/** The spool takes what the object store does not: a sender waits for a second at the most. */
const ATTEMPTS_WITH_SPOOL = 3;

/**
 * How bodies are kept that do not go into records as they are.
 * @throws HooklineError SCHEMA_INVALID where a type's policy needs a variable that is not set
 */
export const bodiesByPolicy = (
  events: EventSchemaSet,
  {
    bodyStore,
    spool,
    sealingKeys,
  }: {
    readonly bodyStore: BodyStoreSettings;
    readonly spool: { readonly dir: string | undefined };
    readonly sealingKeys: SealingKeys | undefined;
  },
): Pick<DeliveryOptions, 'bodyStore' | 'bodyStoreAttempts' | 'bodySealing'> => ({
  bodyStore,
  bodyStoreAttempts: spool.dir !== undefined ? ATTEMPTS_WITH_SPOOL : undefined,
  bodySealing: bodySealingOf(events, { sealingKeys, hasBodyStore: bodyStore.address !== undefined }),
});

/** Where large messages go; undefined without BODY_STORE. A store that refuses them ends no start: it waits for its operator. */
async function startClaimCheck(
  {
    bodyStore,
    bodyStoreAttempts: attempts,
    files,
  }: Pick<DeliveryOptions, 'bodyStore' | 'bodyStoreAttempts' | 'files'>,
  context: ProcessContext,
): Promise<ClaimCheck | undefined> {
  const { clock, components, gate } = context;
  if (bodyStore.address === undefined) return undefined;
  const bodies = await openBodyStore(bodyStore, {
    files,
    clock,
    attempts,
    observer: observeBodyStore(context),
  });
  if (!bodies) return undefined;
  components.add('object store', { stop: async () => bodies.close() });
  await gate.pass('the object store', () => bodies.check());
  return new ClaimCheck(bodies, bodyStore.claimCheckBytes);
}

/** Records that wait for the brokers. */
export const backlogMetrics = (metrics: Metrics) => ({
  publishBacklog: metrics.gauge({
    name: 'hookline_publish_backlog_bytes',
    help: 'Bytes of records that wait for the brokers',
  }),
});

/** What a start needs from the registry and Kafka, and with a spool can take from the files of the last start. */
export type StartupState = {
  schemaIds(schemas: readonly RegisteredSchema[]): Promise<SchemaIds>;
  readonly subscriptions: { readonly cache?: CachedRecords };
};

const DAMAGED =
  'this startup cache file is damaged and is ignored: it is written again once Kafka and the schema registry answer; if this is logged again, check the disk';

/** @param options.dir SPOOL_DIR; undefined where there is no spool: then nothing is cached */
export function openStartupState(options: {
  dir: string | undefined;
  registry: Registry;
  prefix: string;
  context: ProcessContext;
}): StartupState {
  const { dir, registry, prefix, context } = options;
  const { logger, clock } = context;
  if (dir === undefined)
    return {
      schemaIds: (schemas) => watchedIds({ registry, prefix }, schemas, context),
      subscriptions: {},
    };
  const observer: CacheFileObserver = {
    notWritten: (path, err) =>
      logger.warn(
        { err, path },
        'the startup cache cannot be written: a later start would find it out of date',
      ),
    damaged: (path, err) => logger.warn({ err, path }, DAMAGED),
  };
  const file = (name: string) => cacheFile(dir, name, observer);
  const cache = file('schema-ids.json');
  const onCached = (err: unknown) =>
    logger.warn({ err }, 'the schema registry is unavailable: starting with the ids of the last start');
  return {
    schemaIds: (schemas) =>
      watchedIds(
        {
          registry,
          prefix,
          onChanged: () => cache.write([]),
          resolve: (all) => resolveIdsOrCached({ registry, prefix, cache, onCached }, all),
        },
        schemas,
        context,
      ),
    subscriptions: { cache: cachedRecords(file('subscriptions.json'), clock) },
  };
}

/** What an operator must correct: starting with the spool would hide it. */
const NEEDS_OPERATOR = [
  'TOPICS_MISSING',
  'TOPICS_UNSAFE',
  'KAFKA_REFUSED',
  'CREDENTIALS_INVALID',
  'PLAINTEXT_CREDENTIALS',
] as const;

/** With a spool an ingress starts while Kafka is unavailable: a pod that is moved meanwhile must accept webhooks too. */
export const mayStartWithoutKafka = (error: unknown): boolean => !hasCode(error, ...NEEDS_OPERATOR);
