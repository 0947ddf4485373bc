import { HooklineError, hasCode } from '../core/errors.ts';
import { subjectOf, topicName } from '../core/names.ts';
import type { KeptFile } from '../runtime/startup-cache.ts';
import type { RecordCodec } from './record-codec.ts';
import { isRegistryAway } from './record-reader.ts';
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
  for (const { file, topic, codec } of schemas) {
    const subject = subjectOf(topicName(prefix, topic));
    try {
      ids.set(file, await registry.idOf(subject, codec.schema));
    } catch (error) {
      if (!hasCode(error, 'SCHEMA_NOT_REGISTERED')) throw error;
      missing.push(`${file} under ${subject}`);
    }
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

/** One schema as it was registered at an earlier start. */
type KeptId = { readonly subject: string; readonly schema: string; readonly id: number };

/**
 * Looks up the ids, and keeps them in a file: while the registry is away a later start takes them from there, if they
 * are of the very same schemas. An id never comes to mean another schema.
 * @param onKept told where they come from the file, with the registry's failure
 * @throws HooklineError as resolveSchemaIds does
 */
export async function resolveOrKeptIds(
  parts: { registry: Registry; prefix: string; kept: KeptFile; onKept: (error: unknown) => void },
  schemas: readonly RegisteredSchema[],
): Promise<SchemaIds> {
  const { registry, prefix } = parts;
  const subject = ({ topic }: RegisteredSchema) => subjectOf(topicName(prefix, topic));
  try {
    const ids = await resolveSchemaIds(registry, prefix, schemas);
    const kept = schemas.map((schema): KeptId => {
      return { subject: subject(schema), schema: schema.codec.schema, id: ids.of(schema) };
    });
    parts.kept.write(kept);
    return ids;
  } catch (error) {
    const kept = isRegistryAway(error) ? parts.kept.read(idsIn) : undefined;
    if (!kept) throw error;
    const found = new Map<string, number>();
    for (const schema of schemas) {
      const same = kept.find((one) => one.subject === subject(schema) && one.schema === schema.codec.schema);
      if (!same) throw error;
      found.set(schema.file, same.id);
    }
    parts.onKept(error);
    return { of: ({ file }) => found.get(file) ?? Number.NaN };
  }
}

function idsIn(content: unknown): readonly KeptId[] {
  if (!Array.isArray(content)) throw new Error('it is no list');
  return content.map((kept: Partial<KeptId> | null, n) => {
    const { subject, schema, id } = kept ?? {};
    if (typeof subject !== 'string' || typeof schema !== 'string' || !Number.isSafeInteger(id))
      throw new Error(`item ${n} is no schema's id`);
    return { subject, schema, id: Number(id) };
  });
}
