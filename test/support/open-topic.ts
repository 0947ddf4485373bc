import { type OpenTopic, openFetcher } from '../../src/kafka/consume/topic-fetcher.ts';

/** Readers of topics at brokers without TLS and SASL. */
export const openTopicAt =
  (brokers: readonly string[]): OpenTopic =>
  (topic, limits) =>
    openFetcher({ brokers, tls: undefined, sasl: undefined, loopbackOnly: false }, 'test', topic, limits);
