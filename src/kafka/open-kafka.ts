import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Metrics } from '../runtime/metrics.ts';
import type { TokenSource } from '../tokens/token-source.ts';
import { createTopicLimits, type TopicLimits } from './admin/topic-limits.ts';
import { type ConnectionDeps, openConnection } from './connect/connection.ts';
import { type ClientLog, createKafkajs, type KafkaClient } from './connect/kafkajs-client.ts';
import { type OpenTopic, openFetcher } from './consume/topic-fetcher.ts';
import { openProducerSession, type ProducerSession } from './produce/producer-session.ts';
import { Publisher, type PublisherDeps, type PublisherObserver } from './produce/publisher.ts';

/** The ways to one cluster: kafkajs consumes in a group and administers, fetchers read topics, sessions produce. */
export type KafkaAccess = {
  readonly client: KafkaClient;
  readonly openTopic: OpenTopic;
  readonly openSession: (rotation: number) => ProducerSession;
  readonly clock: Clock;
  /** Its access tokens, where it authenticates by tokens. */
  readonly tokens: TokenSource | undefined;
};

/** A hundred megabytes take their time on a slow way: the outcome of an attempt counts as unknown later than with small records. */
export const LARGE_RECORDS = { requestMs: 10_000, attemptMs: 12_000 };

/** @throws HooklineError CREDENTIALS_INVALID where a certificate, key or password file can't be used */
export function openKafka(
  deps: ConnectionDeps & {
    readonly clientId: string;
    readonly log: ClientLog;
    /** How long a broker may take to answer; unset means as long as small records take at most. */
    readonly requestTimeoutMs?: number;
  },
): KafkaAccess {
  const { clientId, log, clock, requestTimeoutMs } = deps;
  const connection = openConnection(deps);
  const { sasl } = connection;
  return {
    clock,
    tokens: sasl?.mechanism === 'OAUTHBEARER' ? sasl.tokens : undefined,
    client: createKafkajs(connection, clientId, log),
    openTopic: (topic, limits) => openFetcher(connection, { clientId, clock }, topic, limits),
    openSession: (rotation) =>
      openProducerSession(connection, { clientId, rotation, clock, requestTimeoutMs }),
  };
}

/** A publisher that knows how large a record these topics take, once `limits.renew()` has asked. Makes no connection yet. */
export function openPublisher(
  { client, openSession, clock }: KafkaAccess,
  topics: readonly string[],
  options: Omit<PublisherDeps, 'openSession' | 'limits' | 'clock'>,
): { readonly publisher: Publisher; readonly limits: TopicLimits } {
  const limits = createTopicLimits(client, topics, clock);
  return { publisher: new Publisher({ ...options, openSession, limits, clock }), limits };
}

/** Of whoever hears of each record's fate anyway. */
export const UNOBSERVED: PublisherObserver = {
  attempt() {},
  confirmed() {},
  sessionOpened() {},
  troubleChanged() {},
};

/** Counts of attempts, the time to a confirmation, and one log line per change. */
export function observePublishing({
  logger,
  metrics,
}: {
  readonly logger: Logger;
  readonly metrics: Metrics;
}): PublisherObserver {
  const own = publisherMetrics(metrics);
  return {
    // Dashboards know the label value by its first name.
    attempt: (outcome) => own.publishAttempts.inc({ outcome: outcome === 'unknown' ? 'doubt' : outcome }),
    confirmed: (seconds) => own.publishSeconds.observe({}, seconds),
    sessionOpened: () => own.kafkaClients.inc(),
    troubleChanged(topic, trouble) {
      if (trouble === null) logger.info({ topic }, 'the brokers confirm again');
      else logger.warn({ topic, trouble }, 'the brokers do not confirm');
    },
  };
}

/** Producing to Kafka. */
export const publisherMetrics = (metrics: Metrics) => ({
  publishSeconds: metrics.histogram({
    name: 'hookline_publish_seconds',
    help: 'From handing a record to the publisher until the brokers confirmed it',
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15],
  }),
  publishAttempts: metrics.counter({
    name: 'hookline_publish_attempts_total',
    help: 'Batches by outcome: confirmed, or how they failed; doubt: the outcome is unknown',
    labels: ['outcome'],
  }),
  kafkaClients: metrics.counter({
    name: 'hookline_kafka_clients_opened_total',
    help: 'Producer clients opened; more than eight in an ingress, or more than one in another process, means requests with an unknown outcome',
  }),
});
