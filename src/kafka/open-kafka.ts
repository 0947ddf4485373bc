import { createTopicLimits, type TopicLimits } from './admin/describe-topics.ts';
import { type ConnectionParts, openConnection } from './connect/connection.ts';
import { type ClientLog, createKafkajs, type KafkaClient } from './connect/kafkajs-client.ts';
import { openProducerSession, type ProducerSession } from './produce/producer-session.ts';
import { Publisher, type PublisherParts } from './produce/publisher.ts';

/** The two ways to one cluster: kafkajs consumes and administers, sessions produce. */
export type KafkaAccess = {
  readonly client: KafkaClient;
  readonly openSession: (rotation: number) => ProducerSession;
};

/** @throws HooklineError CREDENTIALS_INVALID where a certificate, key or password file can't be used */
export function openKafka(
  parts: ConnectionParts & {
    readonly clientId: string;
    readonly log: ClientLog;
    /** How long a broker may take to answer; unset means as long as small records take at most. */
    readonly requestTimeoutMs?: number;
  },
): KafkaAccess {
  const { clientId, log, requestTimeoutMs } = parts;
  const connection = openConnection(parts);
  return {
    client: createKafkajs(connection, clientId, log),
    openSession: (rotation) => openProducerSession(connection, clientId, rotation, requestTimeoutMs),
  };
}

/** A publisher that knows how large a record these topics take, once `limits.renew()` has asked. Makes no connection yet. */
export function openPublisher(
  { client, openSession }: KafkaAccess,
  topics: readonly string[],
  options: Omit<PublisherParts, 'openSession' | 'limits'>,
): { readonly publisher: Publisher; readonly limits: TopicLimits } {
  const limits = createTopicLimits(client, topics);
  return { publisher: new Publisher({ ...options, openSession, limits }), limits };
}
