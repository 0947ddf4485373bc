import type { DeadLetterStage } from '../core/error-row.ts';
import type { DeliveryObserver } from '../delivery/delivery-parts.ts';
import type { Metrics } from '../runtime/metrics.ts';

const STAGES: readonly DeadLetterStage[] = ['DECRYPT', 'PARSE', 'ENCODE', 'PRODUCE'];

/** What happens to deliveries, as metrics. */
export function observeDelivery(metrics: Metrics): DeliveryObserver {
  // From the start, so that the first one is an increase: an alert sees no other.
  for (const stage of STAGES) metrics.deadLetters.inc({ stage }, 0);
  return {
    keyMatched(ref, use, place) {
      const labels = { ref, use, key: String(place) };
      metrics.keyMatches.inc(labels);
      metrics.keyLastMatched.setToCurrentTime(labels);
    },
    drift: (topic, field, count = 1) => metrics.schemaDrift.inc({ topic, field }, count),
    unclassified: () => metrics.unclassified.inc(),
    parked: (stage) => metrics.deadLetters.inc({ stage }),
  };
}
