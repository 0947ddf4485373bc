import type { PodReading } from './read-pod.ts';

/** How much counters have grown over all processes, by name and labels. */
export type Growth = ReadonlyMap<string, number>;

export const seriesKey = (name: string, labels: Readonly<Record<string, string>>): string =>
  `${name} ${Object.entries(labels)
    .map(([label, value]) => `${label}=${value}`)
    .sort()
    .join(' ')}`;

const IS_COUNTER = /_(total|bucket|count)$/;

/** Follows the counters of processes that come and go: one that restarts begins at 0, and one that is new counts from then on. */
export class CounterFollower {
  #before = new Map<string, ReadonlyMap<string, number>>();

  /** The growth since the last call. A process that cannot be read keeps its place: what it counted meanwhile comes with its return. */
  take(pods: readonly PodReading[], counters: readonly string[]): Growth {
    const growth = new Map<string, number>();
    const now = new Map<string, ReadonlyMap<string, number>>();
    for (const { address, samples, fault } of pods) {
      const before = this.#before.get(address);
      if (fault !== null) {
        if (before) now.set(address, before);
        continue;
      }
      const values = new Map<string, number>();
      for (const { name, labels, value } of counters.flatMap((counter) => samples.of(counter))) {
        const key = seriesKey(name, labels);
        values.set(key, value);
        const was = before?.get(key);
        // A series that a known process did not have yet has grown from nothing.
        const grown = before === undefined ? 0 : was === undefined || value < was ? value : value - was;
        growth.set(key, (growth.get(key) ?? 0) + grown);
      }
      now.set(address, values);
    }
    this.#before = now;
    return growth;
  }
}

/** The sum over the series of a counter whose labels fit. */
export function grown(growth: Growth, counter: string, label?: RegExp): number {
  if (!IS_COUNTER.test(counter)) throw new Error(`${counter} is no counter`);
  let total = 0;
  for (const [key, value] of growth)
    if (key.startsWith(`${counter} `) && (label === undefined || label.test(key))) total += value;
  return total;
}

/** A quantile of what a histogram has counted, as Prometheus' histogram_quantile interpolates it; null of nothing. */
export function quantileOf(
  growth: Growth,
  histogram: string,
  quantile: number,
  label?: RegExp,
): number | null {
  const buckets = new Map<number, number>();
  for (const [key, value] of growth) {
    if (!key.startsWith(`${histogram}_bucket `) || (label !== undefined && !label.test(key))) continue;
    const [, le = ''] = / le=(\S+)/.exec(key) ?? [];
    const bound = le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le);
    buckets.set(bound, (buckets.get(bound) ?? 0) + value);
  }
  const sorted = [...buckets].sort(([a], [b]) => a - b);
  const total = sorted.at(-1)?.[1] ?? 0;
  if (total <= 0) return null;
  const wanted = quantile * total;
  let lower = 0;
  let below = 0;
  for (const [bound, count] of sorted) {
    if (count >= wanted) {
      if (!Number.isFinite(bound)) return lower;
      return lower + ((bound - lower) * (wanted - below)) / Math.max(count - below, Number.EPSILON);
    }
    [lower, below] = [bound, count];
  }
  return lower;
}

/** The sum of several growths. */
export function addGrowth(growths: readonly Growth[]): Growth {
  const sum = new Map<string, number>();
  for (const growth of growths) for (const [key, value] of growth) sum.set(key, (sum.get(key) ?? 0) + value);
  return sum;
}
