import { ENVELOPE } from '../../avro/envelope.ts';
import { eventSchemasIn } from '../../avro/event-schema.ts';
import type { TaggedBranch, TaggedType } from '../../avro/tagged-type.ts';
import { OWN_TOPICS, topicName } from '../../core/names.ts';
import type { Config } from './connections.ts';

/** Replaces what is sensitive in what is shown of a record. */
export type Mask = {
  /**
   * @param isDecoded false: it is not in the form that the topic's schema has, so that nothing tells what is sensitive in it; or, with
   *   `schemaFault`, its schema could not be fetched
   */
  value(topic: string, value: unknown, isDecoded: boolean, schemaFault?: string): unknown;
  /** @param entityId as it stands in keys and headers */
  entity(topic: string, entityId: string): string;
};

/** How a command shows what is hidden. */
const BY_OPTION = ': --reveal shows it';

export const REVEAL_HELP = 'shows fields that the schema tags as sensitive, and bodies';

/** Records have the fields that their writer's schema had: nothing tells whether one that the file does not have is sensitive. */
const NOT_IN_FILE = ['not in the schema file'];

/**
 * Masks the fields that the schema files tag (`confluent:tags`) or do not have, and the bodies of the dead-letter topic. Of an event whose
 * type no schema file has any more, only the envelope is shown.
 * @param remedy follows each mask
 */
export function createMask(
  config: Config<'schemas' | 'topics' | 'commands'>,
  reveal: boolean,
  remedy: string = BY_OPTION,
): Mask {
  if (reveal) return { value: (_, value) => value, entity: (_, entityId) => entityId };
  const { prefix } = config.topics;
  const schemas = eventSchemasIn(config.schemas.dir).registered;
  const tagged = new Map(schemas.map((schema) => [topicName(prefix, schema.topic), schema.tagged]));
  const deadLetterTopic = topicName(prefix, OWN_TOPICS.deadLetter);
  // Hookline's other topics have no messages of the provider: commands, results, state.
  const own = new Set([
    ...Object.values(OWN_TOPICS).map((topic) => topicName(prefix, topic)),
    ...config.commands.topics.map(({ name }) => name),
  ]);
  /** Why the entity is hidden; empty where it is not. */
  const entityTags = (topic: string): readonly string[] => {
    // Of any type.
    if (topic === deadLetterTopic) return entityTagsOf([...tagged.values()].flat());
    const type = tagged.get(topic);
    if (type) return entityTagsOf(type);
    return own.has(topic) || !topic.startsWith(`${prefix}.`) ? [] : NOT_IN_FILE;
  };
  return {
    value(topic, value, isDecoded, schemaFault) {
      if (value === null) return null;
      if (topic === deadLetterTopic) return hidden(value, ['a body'], remedy);
      if (!isDecoded && (tagged.has(topic) || !(own.has(topic) || isJsonObject(value))))
        return schemaFault === undefined
          ? hidden(value, ['it cannot be decoded'], remedy)
          : hidden(value, ['its schema could not be fetched'], '');
      const type = tagged.get(topic);
      return type ? maskValue(value, type, remedy) : maskRemoved(value, remedy, entityTags(topic));
    },
    entity(topic, entityId) {
      const tags = entityTags(topic);
      return tags.length > 0 ? hidden(entityId, tags, remedy) : entityId;
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

/** What Hookline itself writes, and what each event has. */
const SHOWN = new Set(ENVELOPE.map(({ name }) => name).filter((name) => name !== 'source'));

/** Of an event whose type no schema file has, all but the envelope: nothing tells what is sensitive. Other records are shown. */
function maskRemoved(value: unknown, remedy: string, entityTags: readonly string[]): unknown {
  const isEvent = hasMembers(value) && ['eventId', 'source'].every((name) => Object.hasOwn(value, name));
  if (!isEvent) return value;
  const members = Object.entries(value).map(([name, member]) => {
    if (member === null) return [name, null];
    if (name === 'source') return [name, hidden(member, ['a message'], remedy)];
    if (name === 'entityId' && entityTags.length > 0) return [name, hidden(member, entityTags, remedy)];
    return [name, SHOWN.has(name) ? member : hidden(member, NOT_IN_FILE, remedy)];
  });
  return Object.fromEntries(members);
}

/** A record's values stand for themselves, without the name of the union's branch: one that fits several has the tags of all. */
function maskValue(value: unknown, type: TaggedType, remedy: string): unknown {
  if (value === null || value === undefined) return value;
  const branches = type.filter((branch) => fits(value, branch));
  if (branches.length === 0) return hidden(value, NOT_IN_FILE, remedy);
  const tags = branches.flatMap((branch) => branch.tags);
  if (tags.length > 0) return hidden(value, tags, remedy);
  if (Array.isArray(value)) {
    const items = branches.flatMap((branch) => (branch.kind === 'array' ? branch.items : []));
    return value.map((item) => maskValue(item, items, remedy));
  }
  if (!hasMembers(value)) return value;
  const members = Object.entries(value).map(([name, member]) => {
    const memberType = branches.flatMap((branch) => memberTypeOf(branch, name));
    return [name, maskValue(member, memberType, remedy)];
  });
  return Object.fromEntries(members);
}

/** Scalars of different types count as the same: a field whose number became a text is the same field. */
function fits(value: unknown, { kind }: TaggedBranch): boolean {
  if (Array.isArray(value)) return kind === 'array';
  return hasMembers(value) ? kind === 'record' || kind === 'map' : kind === 'scalar';
}

/** Records and maps; `bytes` and `fixed` are Buffers. */
const hasMembers = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Buffer.isBuffer(value);

function memberTypeOf(branch: TaggedBranch, name: string): TaggedType {
  if (branch.kind === 'map') return branch.values;
  return branch.kind === 'record' ? (branch.fields.get(name) ?? []) : [];
}

const entityTagsOf = (type: TaggedType): string[] =>
  type.flatMap((event) => [
    ...event.tags,
    ...memberTypeOf(event, 'entityId').flatMap((entityId) => entityId.tags),
  ]);

function hidden(value: unknown, why: readonly string[], remedy: string): string {
  const bytes = typeof value === 'string' ? `, ${Buffer.byteLength(value)} bytes` : '';
  return `hidden (${[...new Set(why)].join(', ')}${bytes})${remedy}`;
}
