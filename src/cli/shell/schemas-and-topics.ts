import { commandSchemasIn } from '../../avro/command-schemas.ts';
import { eventSchemasIn } from '../../avro/event-schema.ts';
import type { RegisteredSchema } from '../../avro/resolve-ids.ts';
import { type TopicSpec, topicSpecs } from '../../kafka/admin/topic-specs.ts';
import type { Config } from './connections.ts';

/**
 * Every schema that the registry must have: those of the events and those of Hookline's own topics.
 * @throws HooklineError SCHEMA_INVALID
 */
export const allSchemas = ({ schemas: { dir } }: Config<'schemas'>): RegisteredSchema[] => [
  ...eventSchemasIn(dir).registered,
  ...Object.values(commandSchemasIn(dir)),
];

/** The groups of variables that decide how the topics should be. */
export const TOPIC_GROUPS = ['topics', 'schemas', 'commands', 'recordSize', 'durability'] as const;

/** Every topic as these settings want it. */
export const topicsOf = (
  config: Config<(typeof TOPIC_GROUPS)[number]>,
  size: { readonly partitions: number; readonly replicationFactor: number },
): TopicSpec[] =>
  topicSpecs({
    ...size,
    ...config.recordSize,
    ...config.durability,
    prefix: config.topics.prefix,
    eventTopics: eventSchemasIn(config.schemas.dir).all.map(({ topic }) => topic),
    commandTopics: config.commands.topics.map(({ name }) => name),
  });
