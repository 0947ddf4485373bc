import type { Registry } from '../avro/registry.ts';
import {
  type RegisteredSchema,
  resolveOrKeptIds,
  resolveSchemaIds,
  type SchemaIds,
} from '../avro/resolve-ids.ts';
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
