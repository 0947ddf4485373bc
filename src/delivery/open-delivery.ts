import { OWN_TOPICS, topicName } from '../core/names.ts';
import type { EventRoutes } from './event-routes.ts';
import type { DeliveryPorts, TopicLimits } from './ports.ts';

/** All that a verified delivery needs to reach Kafka, but for the deadline of its publishing. */
export type OpenDelivery<P> = {
  readonly ports: Omit<DeliveryPorts, 'publish'>;
  readonly publisher: P;
  /** Not asked for yet: see {@link TopicLimits.renew}. */
  readonly limits: TopicLimits;
};

export type DeliveryOptions<P> = Pick<
  DeliveryPorts,
  'layout' | 'routes' | 'encryptionKeysOf' | 'observer' | 'memory'
> & {
  readonly prefix: string;
  /** Makes the publisher for these topics (full names). */
  readonly openPublisher: (topics: readonly string[]) => {
    readonly publisher: P;
    readonly limits: TopicLimits;
  };
  /** Full names of more topics that are published to. */
  readonly moreTopics?: readonly string[];
};

export const deadLetterTopicOf = (prefix: string): string => topicName(prefix, OWN_TOPICS.deadLetter);

/** Full names of all topics that a webhook may end in: those of the events, and the dead-letter topic. */
export function deliveryTopics(routes: EventRoutes, prefix: string): string[] {
  return [...new Set(routes.all.map(({ topic }) => topic)), deadLetterTopicOf(prefix)];
}

/**
 * The one assembly of the delivery side: for ingress, its thread for large bodies, and the CLI's redrive and drain.
 * It makes no connection yet.
 */
export function openDelivery<P>(options: DeliveryOptions<P>): OpenDelivery<P> {
  const { prefix, openPublisher, moreTopics = [], ...own } = options;
  const { publisher, limits } = openPublisher([...deliveryTopics(own.routes, prefix), ...moreTopics]);
  const ports = { ...own, deadLetterTopic: deadLetterTopicOf(prefix), limitOf: limits.of };
  return { ports, publisher, limits };
}
