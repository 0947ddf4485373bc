import type { DeliveryObserver } from '../delivery/delivery-parts.ts';
import type { Metrics } from '../runtime/metrics.ts';

/** What happens to deliveries, as metrics. */
export function observeDelivery(metrics: Metrics): DeliveryObserver {
  return {
    keyMatched(ref, use, place) {
      const labels = { ref, use, key: String(place) };
      metrics.keyMatches.inc(labels);
      metrics.keyLastMatched.setToCurrentTime(labels);
    },
    drift: (topic, field) => metrics.schemaDrift.inc({ topic, field }),
    unclassified: () => metrics.unclassified.inc(),
    parked: (stage) => metrics.deadLetters.inc({ stage }),
  };
}
