import type kafkajs from 'kafkajs';
import { MAX_MESSAGE_BYTES } from '../../core/record.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { KafkaClient } from '../connect/kafkajs-client.ts';
import { askForEach, describeConfigs, withAdmin } from './describe-topics.ts';

/** The largest record that each topic takes, as far as it is known. */
export type TopicLimits = {
  /** Bytes of the largest record on the wire; at most what a broker reads in one request. */
  of(topic: string): number;
  /** Asks the brokers again, unless they were asked within the last second. Without an answer the limits stay; without the right to it none is known. */
  renew(): Promise<void>;
};

/** Without a connection: only what no broker reads is too large. */
export const UNKNOWN_LIMITS: TopicLimits = { of: () => MAX_MESSAGE_BYTES, renew: async () => {} };

/** A partition queue waits for the answer: not for long, and not once for each record. */
const RENEW_DEADLINE_MS = 3_000;
const FRESH_MS = 1_000;
const RECORD_LIMIT = 'max.message.bytes';

const isDenied = (answer: unknown) => (answer as { type?: unknown }).type === 'TOPIC_AUTHORIZATION_FAILED';

/** Reads max.message.bytes of these topics on `renew()`. Needs the right DescribeConfigs. */
export function createTopicLimits(kafka: KafkaClient, topics: readonly string[], clock: Clock): TopicLimits {
  const known = new Map<string, number>();
  let renewing: Promise<void> | undefined;
  let renewedAt = Number.NEGATIVE_INFINITY;
  const renew = async () => {
    const ask = (admin: kafkajs.Admin) =>
      askForEach(topics, (names) => describeConfigs(admin, names, [RECORD_LIMIT]));
    const configs = await withAdmin(kafka, ask).catch(() => null);
    for (const [topic, config] of configs ?? []) {
      const bytes = config instanceof Map ? Number(config.get(RECORD_LIMIT)) : 0;
      if (bytes > 0) known.set(topic, Math.min(bytes, MAX_MESSAGE_BYTES));
      // It may be raised from now on, and nobody would hear of it.
      else if (isDenied(config)) known.delete(topic);
    }
    renewedAt = clock.now();
  };
  return {
    of: (topic) => known.get(topic) ?? MAX_MESSAGE_BYTES,
    async renew() {
      if (clock.now() - renewedAt < FRESH_MS) return;
      renewing ??= renew().finally(() => {
        renewing = undefined;
      });
      await Promise.race([renewing, clock.sleep(RENEW_DEADLINE_MS, { ref: false })]);
    },
  };
}
