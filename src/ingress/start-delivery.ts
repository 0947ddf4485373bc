import type { SealedLayout } from '../crypto/layout.ts';
import type { EventRoutes } from '../delivery/event-routes.ts';
import { deliveryTopics, type OpenDelivery, openDelivery } from '../delivery/open-delivery.ts';
import { type KafkaAccess, observePublishing, openPublisher } from '../kafka/open-kafka.ts';
import type { Publisher } from '../kafka/produce/publisher.ts';
import type { Metrics } from '../runtime/metrics.ts';
import type { ProcessContext } from '../runtime/process-shell.ts';
import type { LiveKeyring } from '../subscriptions/keyring.ts';
import { observeDelivery } from './observe-ingress.ts';

/** Bytes of records that may wait for the brokers; more are answered 503. */
const BACKLOG_BYTES = 128 * 1024 * 1024;

/** How many partitions may be slow before the others wait: one that receives a large body is. */
const PUBLISHING_SESSIONS = 8;

export type DeliveryOptions = {
  readonly kafka: KafkaAccess;
  readonly routes: EventRoutes;
  readonly prefix: string;
  readonly layout: SealedLayout;
  readonly keyring: LiveKeyring;
  /** Otherwise it starts without them, with the spool. */
  readonly isKafkaReached: boolean;
};

/** The delivery flow of ingress, with its publisher connected where Kafka was reached. */
export async function startDelivery(
  { kafka, routes, prefix, layout, keyring, isKafkaReached }: DeliveryOptions,
  context: ProcessContext,
): Promise<OpenDelivery<Publisher>> {
  const { metrics, components, gate } = context;
  const delivery = openDelivery({
    ...{ routes, prefix, layout },
    encryptionKeysOf: (ref) => keyring.encryptionKeysOf(ref),
    openPublisher: (topics) =>
      openPublisher(kafka, topics, {
        sessions: PUBLISHING_SESSIONS,
        backlogBytes: BACKLOG_BYTES,
        observer: observePublishing(context),
      }),
    observer: observeDelivery(context),
  });
  await delivery.limits.renew();
  const publisher = components.add('publisher', delivery.publisher);
  const { publishBacklog } = backlogMetrics(metrics);
  metrics.samplers.add(() => publishBacklog.set(publisher.backlogBytes));
  if (isKafkaReached) await gate.pass('the brokers', () => publisher.open(deliveryTopics(routes, prefix)));
  return delivery;
}

/** Records that wait for the brokers. */
export const backlogMetrics = (metrics: Metrics) => ({
  publishBacklog: metrics.gauge({
    name: 'hookline_publish_backlog_bytes',
    help: 'Bytes of records that wait for the brokers',
  }),
});
