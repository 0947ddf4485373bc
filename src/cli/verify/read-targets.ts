import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { samplesIn } from '../shell/metric-samples.ts';
import { describeError } from '../shell/shell.ts';
import type { Counted, Life } from './compare-counters.ts';

/** The processes whose counters are known, and why others are not. */
export type LivesRead = { readonly lives: readonly Life[]; readonly unknown: readonly string[] };

const TIMEOUT_MS = 5_000;

/** Names of the metrics that are compared. */
export const COUNTERS = {
  acknowledged: 'hookline_deliveries_total',
  written: 'hookline_publish_seconds_count',
  spooled: 'hookline_spool_deliveries',
  startedAt: 'process_start_time_seconds',
} as const;

/**
 * Reads what each process of ingress has counted since it started, from the processes themselves.
 * @param targets admin addresses; of a name with several addresses each one is read, as of a headless Service
 */
export async function readTargets(
  targets: readonly URL[],
  { signal, now }: { readonly signal: AbortSignal; readonly now: () => number },
): Promise<LivesRead> {
  const found = await Promise.all(targets.map(addressesOf));
  const unknown = found.flatMap((one) => (typeof one === 'string' ? [one] : []));
  const urls = found.flatMap((one) => (typeof one === 'string' ? [] : one));
  const read = await Promise.all(urls.map((url) => readTarget(url, signal, now)));
  return {
    lives: read.flatMap((one) => (typeof one === 'string' ? [] : [one])),
    unknown: [...unknown, ...read.filter((one) => typeof one === 'string')],
  };
}

async function addressesOf(target: URL): Promise<URL[] | string> {
  if (isIP(target.hostname.replace(/^\[|\]$/g, '')) !== 0) return [target];
  try {
    const addresses = await lookup(target.hostname, { all: true });
    return addresses.map(({ address, family }) => {
      const one = new URL(target);
      one.hostname = family === 6 ? `[${address}]` : address;
      return one;
    });
  } catch (error) {
    return `${target.host} cannot be looked up: ${describeError(error)}`;
  }
}

async function readTarget(url: URL, signal: AbortSignal, now: () => number): Promise<Life | string> {
  try {
    const all = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
    const answer = await fetch(new URL('/metrics', url), { signal: all });
    if (!answer.ok) return `${url.host} answers ${answer.status}`;
    return lifeIn(url.host, await answer.text(), now()) ?? `${url.host} is no ingress of this version`;
  } catch (error) {
    return `${url.host} does not answer: ${describeError(error)}`;
  }
}

function lifeIn(process: string, text: string, at: number): Life | null {
  const samples = samplesIn(text);
  const sumOf = (name: string, labels: Readonly<Record<string, string>> = {}): number | null => {
    const own = samples.filter(
      (sample) =>
        sample.name === name &&
        Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
    );
    return own.length === 0 ? null : own.reduce((sum, { value }) => sum + value, 0);
  };
  const written = sumOf(COUNTERS.written);
  const spooled = sumOf(COUNTERS.spooled);
  const startedAt = sumOf(COUNTERS.startedAt);
  if (written === null || spooled === null || startedAt === null) return null;
  const acknowledged = sumOf(COUNTERS.acknowledged, { status: '200' }) ?? 0;
  const last: Counted = { at, acknowledged, written, spooled };
  return { process, base: null, startedAt: startedAt * 1_000, last };
}
