import { type OpenTopic, openFetcher } from '../../src/kafka/consume/topic-fetcher.ts';
import { systemClock } from '../../src/runtime/clock.ts';

/** Readers of topics at brokers without TLS and SASL. */
export const openTopicAt =
  (brokers: readonly string[]): OpenTopic =>
  (topic, limits) =>
    openFetcher(
      { brokers, tls: undefined, sasl: undefined, loopbackOnly: false },
      { clientId: 'test', clock: systemClock },
      topic,
      limits,
    );
