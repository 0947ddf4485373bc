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
  const of = (name: string) => samples.filter((sample) => sample.name === name);
  const counts = new Map<string, Sample>();
  for (const sample of of('hookline_keys_live')) {
    const which = JSON.stringify([sample.labels.ref, sample.labels.use]);
    if ((counts.get(which)?.value ?? 0) < sample.value) counts.set(which, sample);
  }
  const rows = [...counts.values()].flatMap(({ labels: { ref = '', use = '' }, value }) =>
    Array.from({ length: value }, (_, index): KeyRow => {
      const key = String(index);
      const isIt = ({ labels }: Sample) => labels.ref === ref && labels.use === use && labels.key === key;
      const times = of('hookline_key_last_matched_timestamp_seconds').filter(isIt);
      const latest = Math.max(0, ...times.map((sample) => sample.value));
      const matches = of('hookline_key_matches_total')
        .filter(isIt)
        .reduce((sum, one) => sum + one.value, 0);
      return {
        ref,
        use,
        key,
        lastMatched: latest > 0 ? new Date(latest * 1_000).toISOString() : null,
        matches,
      };
    }),
  );
  return rows.sort((a, b) => (`${a.ref} ${a.use} ${a.key}` < `${b.ref} ${b.use} ${b.key}` ? -1 : 1));
}
