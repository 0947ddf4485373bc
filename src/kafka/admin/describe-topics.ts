import type kafkajs from 'kafkajs';
import type { Clock } from '../../runtime/clock.ts';
import type { KafkaClient } from '../connect/kafkajs-client.ts';
import { describeConfigs } from './describe-configs.ts';
import { MOST_MESSAGE_BYTES } from './topic-specs.ts';

/** Runs with an admin connection, closed afterwards. */
export async function withAdmin<T>(
  kafka: KafkaClient,
  work: (admin: kafkajs.Admin) => Promise<T>,
): Promise<T> {
  const admin = kafka.admin();
  try {
    await admin.connect();
    return await work(admin);
  } finally {
    await admin.disconnect();
  }
}

/** How large a record each topic takes, as far as it is known here. */
export type TopicLimits = {
  /** Bytes of the largest record on the wire. Never above what a broker reads in one request, known or not. */
  of(topic: string): number;
  /** Asks the brokers again, unless they were asked a moment ago. Without an answer what was known stays. */
  renew(): Promise<void>;
};

/** Where nothing can be asked, only what no broker reads is too large. */
export const UNKNOWN_LIMITS: TopicLimits = { of: () => MOST_MESSAGE_BYTES, renew: async () => {} };

/** A partition waits while its record's limit is asked for: not for long, and not for each of many. */
const RENEW_DEADLINE_MS = 3_000;
const FRESH_MS = 1_000;

/** Reads max.message.bytes of these topics when asked to: it needs the right to describe their configuration. */
export function createTopicLimits(kafka: KafkaClient, topics: readonly string[], clock: Clock): TopicLimits {
  const known = new Map<string, number>();
  let renewing: Promise<void> | undefined;
  let renewedAt = Number.NEGATIVE_INFINITY;
  const renew = async () => {
    const configs = await withAdmin(kafka, (admin) => describeConfigs(admin, topics)).catch(() => null);
    for (const [topic, config] of configs ?? []) {
      const bytes = Number(config.get('max.message.bytes'));
      if (bytes > 0) known.set(topic, Math.min(bytes, MOST_MESSAGE_BYTES));
    }
    renewedAt = clock.now();
  };
  return {
    of: (topic) => known.get(topic) ?? MOST_MESSAGE_BYTES,
    async renew() {
      if (clock.now() - renewedAt < FRESH_MS) return;
      renewing ??= renew().finally(() => {
        renewing = undefined;
      });
      await Promise.race([renewing, clock.sleep(RENEW_DEADLINE_MS, { ref: false })]);
    },
  };
}
