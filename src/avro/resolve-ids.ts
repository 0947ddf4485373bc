import { HooklineError, hasCode } from '../core/errors.ts';
import { subjectOf, topicName } from '../core/names.ts';
import type { CacheFile } from '../runtime/startup-cache.ts';
import type { RecordCodec } from './record-codec.ts';
import { isRegistryUnavailable } from './record-reader.ts';
import type { Registry } from './registry.ts';

/** A schema file whose records go to one topic. */
export type RegisteredSchema = { readonly file: string; readonly topic: string; readonly codec: RecordCodec };

/** The registered ids of the schemas that were looked up. */
export type SchemaIds = { of(schema: { readonly file: string }): number };

/**
 * Looks up the id of each schema, once, at start: afterwards no event needs the registry.
 * @throws HooklineError SCHEMA_NOT_REGISTERED naming every file that is missing; REGISTRY_UNAVAILABLE
 */
export async function resolveSchemaIds(
  registry: Registry,
  prefix: string,
  schemas: readonly RegisteredSchema[],
): Promise<SchemaIds> {
  const missing: string[] = [];
  const ids = new Map<string, number>();
  for (const schema of schemas) {
    const id = await lookUpId(registry, prefix, schema);
    if (id === null) missing.push(`${schema.file} under ${subjectOf(topicName(prefix, schema.topic))}`);
    else ids.set(schema.file, id);
  }
  if (missing.length > 0) throw new HooklineError('SCHEMA_NOT_REGISTERED', missing.join(', '));
  return {
    of({ file }) {
      const id = ids.get(file);
      if (id === undefined) throw new TypeError(`the id of ${file} was not looked up`);
      return id;
    },
  };
}

/** The id of one schema; null where the registry does not have it. */
export async function lookUpId(
  registry: Registry,
  prefix: string,
  { topic, codec }: RegisteredSchema,
): Promise<number | null> {
  return registry.idOf(subjectOf(topicName(prefix, topic)), codec.schema).catch((error) => {
    if (hasCode(error, 'SCHEMA_NOT_REGISTERED')) return null;
    throw error;
  });
}

/** One schema as it was registered at an earlier start. */
type CachedId = { readonly subject: string; readonly schema: string; readonly id: number };

/**
 * Looks up the ids and caches them in a file: while the registry is unavailable a later start takes them from there, if
 * they are of the very same schemas.
 * @param onCached called where they come from the file, with the registry's failure
 * @throws HooklineError as resolveSchemaIds does
 */
export async function resolveIdsOrCached(
  deps: { registry: Registry; prefix: string; cache: CacheFile; onCached: (error: unknown) => void },
  schemas: readonly RegisteredSchema[],
): Promise<SchemaIds> {
  const { registry, prefix } = deps;
  const subject = ({ topic }: RegisteredSchema) => subjectOf(topicName(prefix, topic));
  try {
    const ids = await resolveSchemaIds(registry, prefix, schemas);
    const cached = schemas.map((schema): CachedId => {
      return { subject: subject(schema), schema: schema.codec.schema, id: ids.of(schema) };
    });
    deps.cache.write(cached);
    return ids;
  } catch (error) {
    const cached = isRegistryUnavailable(error) ? deps.cache.read(idsIn) : undefined;
    if (!cached) throw error;
    const found = new Map<string, number>();
    for (const schema of schemas) {
      const same = cached.find(
        (one) => one.subject === subject(schema) && one.schema === schema.codec.schema,
      );
      if (!same) throw error;
      found.set(schema.file, same.id);
    }
    deps.onCached(error);
    return { of: ({ file }) => found.get(file) ?? Number.NaN };
  }
}

function idsIn(content: unknown): readonly CachedId[] {
  if (!Array.isArray(content)) throw new Error('it is not a list');
  return content.map((item: Partial<CachedId> | null, n) => {
    const { subject, schema, id } = item ?? {};
    if (typeof subject !== 'string' || typeof schema !== 'string' || !Number.isSafeInteger(id))
      throw new Error(`item ${n} is not a schema's id`);
    return { subject, schema, id: Number(id) };
  });
}
