import { type EventSchema, readEventSchemas } from '../../avro/event-schema.ts';
import { readSchemaFiles } from '../../avro/schema-files.ts';
import { OWN_TOPICS, topicName } from '../../core/names.ts';
import type { Config } from './connections.ts';

/** Replaces what is sensitive in what is shown of a record. */
export type Mask = {
  /** @param isDecoded false: it is not in the form that the topic's schema has, so that nothing tells what is sensitive in it */
  value(topic: string, value: unknown, isDecoded: boolean): unknown;
  /** @param entityId as it stands in keys and headers */
  entity(topic: string, entityId: string): string;
};

/** How a command shows what is hidden. */
const BY_OPTION = ': --reveal shows it';

export const REVEAL_HELP = 'shows fields that the schema tags as sensitive, and bodies';

type Tagged = EventSchema['tagged'];

/**
 * Masks the fields that the schema files tag (`confluent:tags`), and the bodies of the dead-letter topic. In topics that no schema file
 * has, such as that of a type that was removed, `source` is masked.
 * @param remedy follows each mask
 */
export function createMask(
  config: Config<'schemas' | 'topics'>,
  reveal: boolean,
  remedy: string = BY_OPTION,
): Mask {
  if (reveal) return { value: (_, value) => value, entity: (_, entityId) => entityId };
  const { prefix } = config.topics;
  const schemas = readEventSchemas(readSchemaFiles(config.schemas.dir, 'events')).registered;
  const tagged = new Map(schemas.map((schema) => [topicName(prefix, schema.topic), schema.tagged]));
  const deadLetterTopic = topicName(prefix, OWN_TOPICS.deadLetter);
  // Hookline's other topics have no messages of the provider: commands, results, state.
  const own = new Set(Object.values(OWN_TOPICS).map((topic) => topicName(prefix, topic)));
  const entityTags = (topic: string) =>
    (topic === deadLetterTopic ? [...tagged.values()].flat() : (tagged.get(topic) ?? [])).find(isEntity)
      ?.tags;
  return {
    value(topic, value, isDecoded) {
      if (value === null) return null;
      if (topic === deadLetterTopic) return hidden(value, ['a body'], remedy);
      if (!isDecoded && (tagged.has(topic) || !(own.has(topic) || isJsonObject(value))))
        return hidden(value, ['it cannot be decoded'], remedy);
      let masked: unknown = value;
      for (const { path, tags } of tagged.get(topic) ?? UNKNOWN) masked = maskAt(masked, path, tags, remedy);
      return masked;
    },
    entity(topic, entityId) {
      const tags = entityTags(topic);
      return tags ? hidden(entityId, tags, remedy) : entityId;
    },
  };
}

/** Names of what is shown of a value that is no JSON, or of which only a part was read. */
const UNREADABLE = ['base64', 'beginning'];

/** As commands are, in topics of teams. */
const isJsonObject = (value: unknown) =>
  typeof value === 'object' &&
  value !== null &&
  !Array.isArray(value) &&
  !UNREADABLE.some((name) => Object.hasOwn(value, name));

const UNKNOWN: Tagged = [{ path: ['source'], tags: ['a message'] }];

const isEntity = ({ path }: Tagged[number]) => path.length === 1 && path[0] === 'entityId';

function maskAt(value: unknown, path: readonly string[], tags: readonly string[], remedy: string): unknown {
  const [step, ...rest] = path;
  if (value === null || value === undefined) return value;
  if (step === undefined) return hidden(value, tags, remedy);
  if (step === '[]')
    return Array.isArray(value) ? value.map((item) => maskAt(item, rest, tags, remedy)) : value;
  if (typeof value !== 'object' || !Object.hasOwn(value, step)) return value;
  return { ...value, [step]: maskAt((value as Record<string, unknown>)[step], rest, tags, remedy) };
}

function hidden(value: unknown, tags: readonly string[], remedy: string): string {
  const bytes = typeof value === 'string' ? `, ${Buffer.byteLength(value)} bytes` : '';
  return `hidden (${tags.join(', ')}${bytes})${remedy}`;
}
