import type { Registry } from '../avro/registry.ts';
import {
  type RegisteredSchema,
  resolveIdsOrCached,
  resolveSchemaIds,
  type SchemaIds,
} from '../avro/resolve-ids.ts';
import { hasCode } from '../core/errors.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import { type CacheFileObserver, cacheFile } from '../runtime/startup-cache.ts';
import { type CachedRecords, cachedRecords } from '../subscriptions/cached-records.ts';

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
  logger: Logger;
  clock: Clock;
}): StartupState {
  const { dir, registry, prefix, logger, clock } = options;
  if (dir === undefined) {
    return { schemaIds: (schemas) => resolveSchemaIds(registry, prefix, schemas), subscriptions: {} };
  }
  const observer: CacheFileObserver = {
    notWritten: (path, err) =>
      logger.warn(
        { err, path },
        'the startup cache cannot be written: a later start would find it out of date',
      ),
    damaged: (path, err) => logger.warn({ err, path }, DAMAGED),
  };
  const file = (name: string) => cacheFile(dir, name, observer);
  const onCached = (err: unknown) =>
    logger.warn({ err }, 'the schema registry is unavailable: starting with the ids of the last start');
  return {
    schemaIds: (schemas) =>
      resolveIdsOrCached({ registry, prefix, cache: file('schema-ids.json'), onCached }, schemas),
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
