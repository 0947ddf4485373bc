import type { DeadLetterStage } from '../core/error-row.ts';
import type { DeliveryObserver } from '../delivery/ports.ts';
import type { Metrics } from '../runtime/metrics.ts';

const STAGES: readonly DeadLetterStage[] = ['DECRYPT', 'PARSE', 'ENCODE', 'PRODUCE', 'SPOOL'];

type Matches = {
  readonly ref: string;
  readonly use: string;
  readonly key: string;
  count: number;
  at: number;
};

/**
 * What happens to deliveries, as metrics. Matches, of which there are two for each delivery, are counted here and handed
 * on at each scrape: a labelled counter costs several times as much as a field.
 */
export function observeDelivery(metrics: Metrics): DeliveryObserver {
  // From the start, so that the first one is an increase: an alert sees no other.
  for (const stage of STAGES) metrics.deadLetters.inc({ stage }, 0);
  const matches = new Map<string, Matches[][]>();
  const flush = (one: Matches) => {
    if (one.count === 0) return;
    const { ref, use, key, count, at } = one;
    metrics.keyMatches.inc({ ref, use, key }, count);
    metrics.keyLastMatched.set({ ref, use, key }, at / 1_000);
    one.count = 0;
  };
  metrics.samplers.add(() => {
    for (const uses of matches.values()) for (const places of uses) places.forEach(flush);
  });
  return {
    keyMatched(ref, use, place) {
      let uses = matches.get(ref);
      if (uses === undefined) {
        uses = [[], []];
        matches.set(ref, uses);
      }
      const places = uses[use === 'signing' ? 0 : 1] as Matches[];
      const one = places[place] ?? { ref, use, key: String(place), count: 0, at: 0 };
      places[place] = one;
      one.count++;
      one.at = Date.now();
    },
    drift: (topic, field, count = 1) => metrics.schemaDrift.inc({ topic, field }, count),
    unclassified: () => metrics.unclassified.inc(),
    parked: (stage) => metrics.deadLetters.inc({ stage }),
  };
}
