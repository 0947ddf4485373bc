import type { EventSchemaSet } from '../avro/event-schema.ts';
import { HooklineError } from '../core/errors.ts';
import { OWN_TOPICS, topicName } from '../core/names.ts';
import type { SealingKeys } from '../crypto/sealing.ts';
import type { Clock } from '../runtime/clock.ts';
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
  'layout' | 'routes' | 'encryptionKeysOf' | 'observer' | 'memory' | 'claims' | 'bodySealing'
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

/** Full names of all topics that a webhook may end in: those of the events, and the dead-letter topic. */
export function deliveryTopics(routes: EventRoutes, prefix: string): string[] {
  return [...new Set(routes.all.map(({ topic }) => topic)), topicName(prefix, OWN_TOPICS.deadLetter)];
}

/**
 * The keys for dead-lettered bodies: those of SEALING_KEY_FILE where a type does not keep its messages in Kafka.
 * @throws HooklineError SCHEMA_INVALID where a type's policy needs a variable that is not set
 */
export function bodySealingOf(
  schemas: EventSchemaSet,
  { sealingKeys, hasBodyStore }: { sealingKeys: SealingKeys | undefined; hasBodyStore: boolean },
): SealingKeys | undefined {
  const others = schemas.all.filter(({ source }) => source !== 'keep');
  for (const { file, source } of others) {
    const missing = [
      ...(sealingKeys ? [] : ['SEALING_KEY_FILE']),
      ...(source === 'reference' && !hasBodyStore ? ['BODY_STORE'] : []),
    ];
    if (missing.length > 0)
      throw new HooklineError(
        'SCHEMA_INVALID',
        `${file}: "source": "${source}" needs ${missing.join(' and ')}, which is not set`,
      );
  }
  return others.length > 0 ? sealingKeys : undefined;
}

const RENEW_LIMITS_MS = 60_000;

/** Asks for the topics' limits, and again every minute: an operator may change them while the process runs. */
export function watchLimits(limits: TopicLimits, clock: Clock): Promise<void> {
  clock.every(RENEW_LIMITS_MS, () => void limits.renew(), { ref: false });
  return limits.renew();
}

/**
 * The one assembly of the delivery side: for ingress, its thread for large bodies, and the CLI's redrive and drain.
 * It makes no connection yet.
 */
export function openDelivery<P>(options: DeliveryOptions<P>): OpenDelivery<P> {
  const { prefix, openPublisher, moreTopics = [], ...own } = options;
  const { publisher, limits } = openPublisher([...deliveryTopics(own.routes, prefix), ...moreTopics]);
  const ports = { ...own, deadLetterTopic: topicName(prefix, OWN_TOPICS.deadLetter), limitOf: limits.of };
  return { ports, publisher, limits };
}
