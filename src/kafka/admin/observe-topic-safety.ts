import type { Logger } from '../../runtime/logger.ts';
import type { Metrics } from '../../runtime/metrics.ts';

/** What tells of topics that can lose what was acknowledged: a gauge per topic, and one log line per change. */
export function observeTopicSafety({ logger, metrics }: { logger: Logger; metrics: Metrics }) {
  return {
    verdict: (topic: string, unsafe: string | null) =>
      metrics.topicUnsafe.set({ topic }, unsafe === null ? 0 : 1),
    changed(topic: string, unsafe: string | null) {
      if (unsafe === null) logger.info({ topic }, 'topic is safe again');
      else logger.error({ topic, code: 'TOPICS_UNSAFE', unsafe }, 'topic can lose what was acknowledged');
    },
    warning: (text: string) => logger.warn({ about: text }, 'topic settings need a look'),
  };
}
