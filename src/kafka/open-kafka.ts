import { readConnection } from './connection.ts';
import { type ClientLog, createKafkajs, type KafkaClient } from './kafkajs-client.ts';
import { openProducerSession, type ProducerSession } from './producer-session.ts';
import type { KafkaSettings } from './settings.ts';

/** The two ways to one cluster: kafkajs consumes and administers, sessions produce. */
export type KafkaAccess = {
  readonly client: KafkaClient;
  readonly openSession: (rotation: number) => ProducerSession;
};

export function openKafka(settings: KafkaSettings, clientId: string, log: ClientLog): KafkaAccess {
  return {
    client: createKafkajs(readConnection(settings), clientId, log),
    openSession: (rotation) => openProducerSession(readConnection(settings), clientId, rotation),
  };
}
