import { isoOf } from '../../core/instant.ts';
import type { Sample } from '../../monitoring/metric-samples.ts';

/** A live key of a subscription, and when it last matched a delivery. `key` is its position: 0 is the current one. */
export type KeyRow = {
  readonly ref: string;
  readonly use: string;
  readonly key: string;
  readonly lastMatched: string | null;
  /** Since each ingress started. */
  readonly matches: number;
};

/** A key is live if any process has it: all learn of a change within about a second. */
export function keyRows(samples: readonly Sample[]): KeyRow[] {
  const byName = Map.groupBy(samples, ({ name }) => name);
  // Each once: to look through all of them for each key would take minutes for a few thousand refs.
  const byKey = (name: string) =>
    Map.groupBy(byName.get(name) ?? [], ({ labels: { ref, use, key } }) => JSON.stringify([ref, use, key]));
  const matched = byKey('hookline_key_last_matched_timestamp_seconds');
  const counted = byKey('hookline_key_matches_total');
  const counts = new Map<string, Sample>();
  for (const sample of byName.get('hookline_keys_live') ?? []) {
    const which = JSON.stringify([sample.labels.ref, sample.labels.use]);
    if ((counts.get(which)?.value ?? 0) < sample.value) counts.set(which, sample);
  }
  const rows = [...counts.values()].flatMap(({ labels: { ref = '', use = '' }, value }) =>
    Array.from({ length: value }, (_, index): KeyRow => {
      const key = String(index);
      const which = JSON.stringify([ref, use, key]);
      const latest = Math.max(0, ...(matched.get(which) ?? []).map((sample) => sample.value));
      const matches = (counted.get(which) ?? []).reduce((sum, one) => sum + one.value, 0);
      const lastMatched = latest > 0 ? isoOf(latest * 1_000) : null;
      return { ref, use, key, lastMatched, matches };
    }),
  );
  return rows.sort((a, b) => (`${a.ref} ${a.use} ${a.key}` < `${b.ref} ${b.use} ${b.key}` ? -1 : 1));
}
