import { type ConnectionParts, openConnection } from './connect/connection.ts';
import { type ClientLog, createKafkajs, type KafkaClient } from './connect/kafkajs-client.ts';
import { openProducerSession, type ProducerSession } from './produce/producer-session.ts';

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
