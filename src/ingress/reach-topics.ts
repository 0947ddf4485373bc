import { hasCode } from '../core/errors.ts';
import { checkTopics, type TopicSafety } from '../kafka/admin/watch-safety.ts';
import type { KafkaClient } from '../kafka/connect/kafkajs-client.ts';

/** What an operator has to repair: waiting in the spool would hide it. */
const NEEDS_OPERATOR = [
  'TOPICS_MISSING',
  'TOPICS_UNSAFE',
  'KAFKA_REFUSED',
  'CREDENTIALS_INVALID',
  'PLAINTEXT_CREDENTIALS',
] as const;

/**
 * Whether Kafka is there, with all these topics, those that are written to safe. With a spool an ingress begins while it is not: a pod that is moved
 * during an outage must take webhooks like those that were not.
 * @throws HooklineError of NEEDS_OPERATOR; without a spool also what tells that no broker answers
 */
export async function reachTopics(
  kafka: KafkaClient,
  topics: readonly string[],
  safety: TopicSafety,
  hasSpool: boolean,
): Promise<boolean> {
  try {
    await checkTopics(kafka, topics, safety);
    return true;
  } catch (error) {
    if (!hasSpool || hasCode(error, ...NEEDS_OPERATOR)) throw error;
    return false;
  }
}
