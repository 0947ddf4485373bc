import { resolveOrKeptIds } from '../avro/kept-ids.ts';
import type { Registry } from '../avro/registry.ts';
import { type RegisteredSchema, resolveSchemaIds, type SchemaIds } from '../avro/resolve-ids.ts';
import type { Logger } from '../runtime/logger.ts';
import { keptBeside } from '../spool/kept-beside.ts';
import { type KeptRecords, keptRecords } from '../subscriptions/kept-records.ts';

/** What a start needs of others, and with a spool can take from what the last process kept beside it. */
export type Beside = {
  schemaIds(schemas: readonly RegisteredSchema[]): Promise<SchemaIds>;
  readonly subscriptions: { readonly kept?: KeptRecords };
};

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
  const file = (name: string) =>
    keptBeside(dir, name, (err) => logger.warn({ err, name }, 'a later start would find this out of date'));
  const onKept = (err: unknown) =>
    logger.warn({ err }, 'the schema registry is away: starting with the ids of the last start');
  return {
    schemaIds: (schemas) =>
      resolveOrKeptIds({ registry, prefix, kept: file('schema-ids.json'), onKept }, schemas),
    subscriptions: { kept: keptRecords(file('subscriptions.json')) },
  };
}
