import { samplesIn } from '../../monitoring/metric-samples.ts';
import { readProcess } from '../../monitoring/read-process.ts';
import { adminAddressesOf } from '../../runtime/admin-addresses.ts';
import type { Http } from '../../runtime/http-client.ts';
import { describeError } from '../shell/shell.ts';
import type { Counted, Life } from './compare-counters.ts';

/** The processes whose counters are known, and why others are not. */
export type LivesRead = {
  readonly lives: readonly Life[];
  /** Those that ended shortly before the period: what they left in a spool belongs to those of the period. */
  readonly before: readonly Life[];
  readonly unknown: readonly string[];
};

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
  { http, now }: { readonly http: Pick<Http, 'send'>; readonly now: () => number },
): Promise<LivesRead> {
  const unknown: string[] = [];
  const found = await Promise.all(
    targets.map((target) =>
      adminAddressesOf(target).catch((error) => {
        unknown.push(`${target.host} cannot be looked up: ${describeError(error)}`);
        return [];
      }),
    ),
  );
  const readOne = (address: string) => readTarget(address, http, now);
  const read = await Promise.all([...new Set(found.flat())].map(readOne));
  const lives: Life[] = [];
  for (const life of read)
    if (typeof life !== 'string' && !(await isThere(life, lives, readOne))) lives.push(life);
  return { lives, before: [], unknown: [...unknown, ...read.filter((one) => typeof one === 'string')] };
}

type ReadOne = (address: string) => Promise<Life | string>;

/**
 * Whether a process is one of these at another address, as over IPv4 and IPv6: it started in the same second, and what it has counted
 * lies between what the other has just before and just after.
 */
async function isThere(life: Life, others: readonly Life[], readOne: ReadOne): Promise<boolean> {
  for (const other of others.filter(({ startedAt }) => startedAt === life.startedAt)) {
    const before = await readOne(other.process);
    const own = await readOne(life.process);
    const after = await readOne(other.process);
    if (typeof before === 'string' || typeof own === 'string' || typeof after === 'string') continue;
    if (isBetween(before, own, after, 'acknowledged') && isBetween(before, own, after, 'written'))
      return true;
  }
  return false;
}

const isBetween = (before: Life, own: Life, after: Life, counter: 'acknowledged' | 'written'): boolean =>
  before.last[counter] <= own.last[counter] && own.last[counter] <= after.last[counter];

async function readTarget(
  address: string,
  http: Pick<Http, 'send'>,
  now: () => number,
): Promise<Life | string> {
  try {
    const { status, body } = await readProcess(http, `http://${address}`, '/metrics', TIMEOUT_MS);
    if (status !== 200) return `${address} answers ${status}`;
    return lifeIn(address, body, now()) ?? `${address} is no ingress of this version`;
  } catch (error) {
    return `${address} does not answer: ${describeError(error)}`;
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
  const started = { base: null, startedAt: startedAt * 1_000 };
  return { process, owner: process, ...started, first: last, last, hasEnded: false };
}
