import { OWN_TOPICS, topicName } from '../core/topics.ts';

/** A topic as it should be. */
export type TopicSpec = {
  readonly name: string;
  readonly partitions: number;
  readonly replicationFactor: number;
  readonly config: Readonly<Record<string, string>>;
};

export type TopicPlanOptions = {
  readonly prefix: string;
  /** Of the event schemas, without the prefix. */
  readonly eventTopics: readonly string[];
  /** Full names, the usual one among them. */
  readonly commandTopics: readonly string[];
  readonly partitions: number;
  readonly replicationFactor: number;
  readonly maxBodyBytes: number;
};

/** A broker refuses requests above 100 MiB (socket.request.max.bytes) by cutting the connection. */
export const MOST_MESSAGE_BYTES = 96 * 1024 * 1024;

/** Every topic that Hookline needs. */
export function topicSpecs(options: TopicPlanOptions): TopicSpec[] {
  const { partitions, replicationFactor } = options;
  const named = (topic: string) => topicName(options.prefix, topic);
  const safety = replicationFactor >= 3 ? { 'min.insync.replicas': '2' } : {};
  const spec = (name: string, config: Record<string, string>): TopicSpec => ({
    name,
    partitions,
    replicationFactor,
    config: { ...safety, ...config },
  });
  // An event holds its message twice at most: as source, and typed.
  const mostBytes = Math.min(2 * options.maxBodyBytes + 1024 * 1024, MOST_MESSAGE_BYTES);
  const bodies = { 'cleanup.policy': 'delete', 'max.message.bytes': String(mostBytes) };
  return [
    ...options.eventTopics.map((topic) => spec(named(topic), bodies)),
    spec(named(OWN_TOPICS.deadLetter), bodies),
    // Stored uncompressed, whatever codec a team's producer has: control reads it then in any case.
    ...options.commandTopics.map((topic) =>
      spec(topic, { 'cleanup.policy': 'delete', 'compression.type': 'uncompressed' }),
    ),
    spec(named(OWN_TOPICS.results), { 'cleanup.policy': 'delete' }),
    spec(named(OWN_TOPICS.subscriptions), { 'cleanup.policy': 'compact' }),
  ];
}
