import type { DeliveryObserver } from '../delivery/delivery-parts.ts';
import type { Metrics } from '../runtime/metrics.ts';

/** What happens to deliveries, as metrics. */
export function observeDelivery(metrics: Metrics): DeliveryObserver {
  return {
    keyMatched: (ref, use, place) => metrics.keyMatches.inc({ ref, use, key: String(place) }),
    drift: (topic, field) => metrics.schemaDrift.inc({ topic, field }),
    unclassified: () => metrics.unclassified.inc(),
    parked: (stage) => metrics.deadLetters.inc({ stage }),
  };
}
