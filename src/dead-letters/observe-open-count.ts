import type { LeasedWork } from '../core/lease.ts';
import { OWN_TOPICS, topicName } from '../core/names.ts';
import { retentionOf } from '../kafka/admin/describe-topics.ts';
import type { KafkaAccess } from '../kafka/open-kafka.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Metrics } from '../runtime/metrics.ts';
import { type CountOpenDeps, countOpen } from './count-open.ts';

type Deps = { readonly logger: Logger; readonly metrics: Metrics };

/** How long the keys of deleted subscriptions are kept. */
type KeySettings = { readonly retiredDecryptionKeysTtlMs: number };

/** Shows how many dead-letter records are open, while this process works. */
export function observeOpenCount(
  { openTopic, client, clock }: Pick<KafkaAccess, 'openTopic' | 'client' | 'clock'>,
  { topics, control }: { readonly topics: { readonly prefix: string }; readonly control: KeySettings },
  deps: Deps,
): LeasedWork {
  const topic = topicName(topics.prefix, OWN_TOPICS.deadLetter);
  return countOpen({
    openTopic,
    topic,
    clock,
    retentionMs: () => retentionOf(client, topic),
    ...openCountObserver({ ...deps, ...control }),
  });
}

/**
 * Gauges, and a log line when the count begins to fail, when it succeeds again, and where the topic keeps records longer than
 * their keys are kept.
 */
export function openCountObserver({
  logger,
  metrics,
  retiredDecryptionKeysTtlMs,
}: Deps & KeySettings): Pick<CountOpenDeps, 'onCounted' | 'onStandby' | 'onFailure'> {
  const own = openCountMetrics(metrics);
  let failure: string | null = null;
  let warnedOf: number | null = null;
  const warnOfKeys = (retentionSeconds: number | null) => {
    const outlives = retentionSeconds !== null && retentionSeconds * 1_000 >= retiredDecryptionKeysTtlMs;
    if (outlives && retentionSeconds !== warnedOf)
      logger.warn(
        { retentionSeconds, keysKeptSeconds: retiredDecryptionKeysTtlMs / 1_000 },
        'the dead-letter topic keeps records longer than RETIRED_DECRYPTION_KEYS_TTL_MS keeps the keys of deleted subscriptions: set it above twice the retention.ms of the topic',
      );
    warnedOf = outlives ? retentionSeconds : null;
  };
  return {
    onCounted({ byStage, oldestSeconds, retentionSeconds }) {
      for (const [stage, count] of byStage) own.open.set({ stage }, count);
      own.oldest.set(oldestSeconds);
      own.retention.set(retentionSeconds ?? 0);
      own.counted.setToCurrentTime();
      warnOfKeys(retentionSeconds);
      if (failure !== null) logger.info('open dead-letter records are counted again');
      failure = null;
    },
    onStandby() {
      for (const gauge of [own.open, own.oldest, own.retention, own.counted]) gauge.reset();
    },
    onFailure(err) {
      const { message } = err as Error;
      if (message !== failure)
        logger.warn({ err }, 'open dead-letter records cannot be counted, trying again');
      failure = message;
    },
  };
}

/** Of the process that works; 0 or absent in the others. */
export const openCountMetrics = (metrics: Metrics) => ({
  open: metrics.gauge({
    name: 'hookline_dead_letters_open',
    help: 'Dead-letter records that are neither redriven nor dismissed, by stage; counted once a minute by the control process that works, absent in the others',
    labels: ['stage'],
  }),
  oldest: metrics.gauge({
    name: 'hookline_dead_letters_open_oldest_seconds',
    help: 'Age of the oldest open dead-letter record; 0 where none is open',
  }),
  retention: metrics.gauge({
    name: 'hookline_dead_letters_retention_seconds',
    help: 'How long the dead-letter topic keeps records, +Inf where for ever; 0 where the brokers do not say',
  }),
  counted: metrics.gauge({
    name: 'hookline_dead_letters_counted_timestamp_seconds',
    help: 'When this process last counted the open dead-letter records, in seconds since 1970; 0 before the first count, and where another one counts',
  }),
});
