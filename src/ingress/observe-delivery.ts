import type { DeadLetterStage } from '../core/errors.ts';
import { deadLetterMetrics } from '../delivery/dead-letter/dead-letter-headers.ts';
import type { DeliveryObserver } from '../delivery/ports.ts';
import type { Metrics } from '../runtime/metrics.ts';
import type { ProcessContext } from '../runtime/process-shell.ts';
import type { KeyChanges } from './key-changes.ts';

const STAGES: readonly DeadLetterStage[] = ['DECRYPT', 'PARSE', 'ENCODE', 'PRODUCE', 'SPOOL'];

type Matches = {
  readonly ref: string;
  readonly use: string;
  readonly key: string;
  count: number;
  at: number;
};

/**
 * What happens to deliveries, as metrics. Matches, of which there are two for each delivery, are counted in fields and added
 * to the metric at each scrape: a labelled counter costs several times as much as a field.
 */
export function observeDelivery(
  { metrics, clock }: Pick<ProcessContext, 'metrics' | 'clock'>,
  changes: Pick<KeyChanges, 'isDue' | 'take'>,
): DeliveryObserver {
  const own = deliveryMetrics(metrics);
  const { deadLetters } = deadLetterMetrics(metrics);
  // From the start, so that the first one is an increase: an alert does not see another.
  for (const stage of STAGES) deadLetters.inc({ stage }, 0);
  const matches = new Map<string, Matches[][]>();
  const flush = (one: Matches) => {
    if (one.count === 0) return;
    const { ref, use, key, count, at } = one;
    own.keyMatches.inc({ ref, use, key }, count);
    own.keyLastMatched.set({ ref, use, key }, at / 1_000);
    one.count = 0;
  };
  /** What was counted by the position of a key is another key's by now. */
  const forget = (ref: string, use: string) => {
    const counted = matches.get(ref)?.[indexOf(use)] ?? [];
    counted.forEach(({ key }) => {
      own.keyMatches.remove({ ref, use, key });
      own.keyLastMatched.remove({ ref, use, key });
    });
    counted.length = 0;
  };
  const forgetChanged = () => {
    for (const { ref, use } of changes.take()) forget(ref, use);
  };
  metrics.samplers.add(() => {
    forgetChanged();
    for (const uses of matches.values()) for (const keys of uses) keys.forEach(flush);
  });
  return {
    keyMatched(ref, use, index) {
      // Before a new key has matched for the first time.
      if (changes.isDue) forgetChanged();
      let uses = matches.get(ref);
      if (uses === undefined) {
        uses = [[], []];
        matches.set(ref, uses);
      }
      const keys = uses[indexOf(use)] as Matches[];
      const one = keys[index] ?? { ref, use, key: String(index), count: 0, at: 0 };
      keys[index] = one;
      one.count++;
      one.at = clock.wall();
    },
    drift: (topic, field, count = 1) => own.schemaDrift.inc({ topic, field }, count),
    unclassified: () => own.unclassified.inc(),
    deadLettered: (stage) => deadLetters.inc({ stage }),
  };
}

const indexOf = (use: string) => (use === 'signing' ? 0 : 1);

/** What becomes of verified deliveries. */
export const deliveryMetrics = (metrics: Metrics) => ({
  unclassified: metrics.counter({
    name: 'hookline_unclassified_total',
    help: 'Verified events whose type no schema claims',
  }),
  schemaDrift: metrics.counter({
    name: 'hookline_schema_drift_total',
    help: 'Values that did not fit their field: null in the record, whole in source',
    labels: ['topic', 'field'],
  }),
  keyMatches: metrics.counter({
    name: 'hookline_key_matches_total',
    help: 'Deliveries by the key that matched: use is signing or encryption, key its place (0 is the current one)',
    labels: ['ref', 'use', 'key'],
  }),
  keyLastMatched: metrics.gauge({
    name: 'hookline_key_last_matched_timestamp_seconds',
    help: 'When a key last matched a delivery, in seconds since 1970; labels as of hookline_key_matches_total',
    labels: ['ref', 'use', 'key'],
  }),
});
