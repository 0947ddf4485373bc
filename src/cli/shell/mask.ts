import { type EventSchema, readEventSchemas } from '../../avro/event-schema.ts';
import { readSchemaFiles } from '../../avro/schema-files.ts';
import { OWN_TOPICS, topicName } from '../../core/names.ts';
import type { Config } from './connections.ts';

/** Replaces what is sensitive in a decoded value. */
export type Mask = (topic: string, value: unknown) => unknown;

export const REVEAL_HELP = 'shows fields that the schema tags as sensitive, and bodies';

/**
 * Masks the fields that the schema files tag (`confluent:tags`), and the bodies of the dead-letter topic. In topics that no schema file
 * has, such as that of a type that was removed, `source` is masked.
 */
export function createMask(config: Config<'schemas' | 'topics'>, reveal: boolean): Mask {
  if (reveal) return (_, value) => value;
  const { prefix } = config.topics;
  const schemas = readEventSchemas(readSchemaFiles(config.schemas.dir, 'events')).all;
  const tagged = new Map(schemas.map((schema) => [topicName(prefix, schema.topic), schema.tagged]));
  const deadLetterTopic = topicName(prefix, OWN_TOPICS.deadLetter);
  return (topic, value) => {
    if (topic === deadLetterTopic) return value === null ? null : hidden(value, ['a body']);
    const fields = tagged.get(topic) ?? UNKNOWN;
    return fields.reduce((masked, { path, tags }) => maskAt(masked, path, tags), value);
  };
}

const UNKNOWN: EventSchema['tagged'] = [{ path: ['source'], tags: ['a message'] }];

function maskAt(value: unknown, path: readonly string[], tags: readonly string[]): unknown {
  const [step, ...rest] = path;
  if (value === null || value === undefined) return value;
  if (step === undefined) return hidden(value, tags);
  if (step === '[]') return Array.isArray(value) ? value.map((item) => maskAt(item, rest, tags)) : value;
  if (typeof value !== 'object' || !Object.hasOwn(value, step)) return value;
  return { ...value, [step]: maskAt((value as Record<string, unknown>)[step], rest, tags) };
}

function hidden(value: unknown, tags: readonly string[]): string {
  const bytes = typeof value === 'string' ? `, ${Buffer.byteLength(value)} bytes` : '';
  return `hidden (${tags.join(', ')}${bytes}): --reveal shows it`;
}
