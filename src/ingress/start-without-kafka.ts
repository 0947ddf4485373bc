import type { Registry } from '../avro/registry.ts';
import {
  type RegisteredSchema,
  resolveOrKeptIds,
  resolveSchemaIds,
  type SchemaIds,
} from '../avro/resolve-ids.ts';
import { hasCode } from '../core/errors.ts';
import { checkTopics, type TopicSafety } from '../kafka/admin/watch-safety.ts';
import type { KafkaClient } from '../kafka/connect/kafkajs-client.ts';
import type { Logger } from '../runtime/logger.ts';
import { type KeptFileObserver, keptBeside } from '../runtime/startup-cache.ts';
import { type KeptRecords, keptRecords } from '../subscriptions/cached-records.ts';

/** What a start needs of others, and with a spool can take from what the last process kept beside it. */
export type Beside = {
  schemaIds(schemas: readonly RegisteredSchema[]): Promise<SchemaIds>;
  readonly subscriptions: { readonly kept?: KeptRecords };
};

const DAMAGED =
  'this startup cache file is damaged and is ignored: it is written anew once Kafka and the schema registry answer; if it comes back, check the disk';

/** @param parts.dir SPOOL_DIR; undefined where there is no spool: then nothing is kept */
export function keepBeside(parts: {
  dir: string | undefined;
  registry: Registry;
  prefix: string;
  logger: Logger;
}): Beside {
  const { dir, registry, prefix, logger } = parts;
  if (dir === undefined) {
    return { schemaIds: (schemas) => resolveSchemaIds(registry, prefix, schemas), subscriptions: {} };
  }
  const observer: KeptFileObserver = {
    notWritten: (path, err) =>
      logger.warn(
        { err, path },
        'the startup cache can not be written: a later start would find it out of date',
      ),
    damaged: (path, err) => logger.warn({ err, path }, DAMAGED),
  };
  const file = (name: string) => keptBeside(dir, name, observer);
  const onKept = (err: unknown) =>
    logger.warn({ err }, 'the schema registry is away: starting with the ids of the last start');
  return {
    schemaIds: (schemas) =>
      resolveOrKeptIds({ registry, prefix, kept: file('schema-ids.json'), onKept }, schemas),
    subscriptions: { kept: keptRecords(file('subscriptions.json')) },
  };
}

/** What an operator has to repair: waiting in the spool would hide it. */
const NEEDS_OPERATOR = [
  'TOPICS_MISSING',
  'TOPICS_UNSAFE',
  'KAFKA_REFUSED',
  'CREDENTIALS_INVALID',
  'PLAINTEXT_CREDENTIALS',
] as const;

/**
 * Whether Kafka is there, with all these topics, those that are written to safe. With a spool an ingress begins while it is not: a pod that is moved
 * during an outage must take webhooks like those that were not.
 * @throws HooklineError of NEEDS_OPERATOR; without a spool also what tells that no broker answers
 */
export async function reachTopics(
  kafka: KafkaClient,
  topics: readonly string[],
  safety: TopicSafety,
  hasSpool: boolean,
): Promise<boolean> {
  try {
    await checkTopics(kafka, topics, safety);
    return true;
  } catch (error) {
    if (!hasSpool || hasCode(error, ...NEEDS_OPERATOR)) throw error;
    return false;
  }
}
