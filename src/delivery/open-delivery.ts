import { OWN_TOPICS, topicName } from '../core/names.ts';
import { createTopicLimits, type TopicLimits } from '../kafka/admin/describe-topics.ts';
import type { KafkaAccess } from '../kafka/open-kafka.ts';
import { Publisher, type PublisherParts } from '../kafka/produce/publisher.ts';
import type { EventRoutes } from './event-routes.ts';
import type { DeliveryParts } from './ports.ts';

/** All that a verified delivery needs to reach Kafka, but for the deadline of its publishing. */
export type OpenDelivery = {
  readonly parts: Omit<DeliveryParts, 'publish'>;
  readonly publisher: Publisher;
  /** Not asked for yet: see {@link TopicLimits.renew}. */
  readonly limits: TopicLimits;
};

export type DeliveryOptions = Pick<
  DeliveryParts,
  'layout' | 'routes' | 'encryptionKeysOf' | 'observer' | 'memory'
> & {
  readonly prefix: string;
  readonly kafka: Pick<KafkaAccess, 'client' | 'openSession'>;
  readonly publishing: Omit<PublisherParts, 'openSession' | 'limits'>;
  /** Full names of what is published to beside events and dead letters. */
  readonly moreTopics?: readonly string[];
};

export const deadLetterTopicOf = (prefix: string): string => topicName(prefix, OWN_TOPICS.deadLetter);

/** Full names of all topics that a webhook may end in: those of the events, and the dead letters'. */
export function deliveryTopics(routes: EventRoutes, prefix: string): string[] {
  return [...new Set(routes.all.map(({ topic }) => topic)), deadLetterTopicOf(prefix)];
}

/** The one assembly of the delivery side: for ingress, its thread for large bodies, and the tool. Reaches nothing yet. */
export function openDelivery(options: DeliveryOptions): OpenDelivery {
  const { prefix, kafka, publishing, moreTopics = [], ...own } = options;
  const topics = [...deliveryTopics(own.routes, prefix), ...moreTopics];
  const limits = createTopicLimits(kafka.client, topics);
  const publisher = new Publisher({ ...publishing, openSession: kafka.openSession, limits });
  const parts = { ...own, deadLetterTopic: deadLetterTopicOf(prefix), limitOf: limits.of };
  return { parts, publisher, limits };
}
