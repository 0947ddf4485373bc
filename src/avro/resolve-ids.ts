import { HooklineError, hasCode } from '../core/errors.ts';
import { subjectOf, topicName } from '../core/names.ts';
import type { RecordCodec } from './record-codec.ts';
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
