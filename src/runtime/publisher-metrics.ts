import type { Logger } from './logger.ts';
import type { Metrics } from './metrics.ts';

/** What a publisher is watched by: counts of attempts, the time to a confirmation, and one log line per change. */
export function watchPublishing({ logger, metrics }: { logger: Logger; metrics: Metrics }) {
  return {
    attempt: (outcome: string) => metrics.publishAttempts.inc({ outcome }),
    confirmed: (seconds: number) => metrics.publishSeconds.observe(seconds),
    sessionOpened: () => metrics.kafkaClients.inc(),
    troubleChanged(topic: string, trouble: string | null) {
      if (trouble === null) logger.info({ topic }, 'the brokers confirm again');
      else logger.warn({ topic, trouble }, 'the brokers do not confirm');
    },
  };
}
