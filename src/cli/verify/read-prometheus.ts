import { isoOf } from '../../core/instant.ts';
import {
  openPrometheusApi,
  type PrometheusApi,
  type Series,
  seriesIn,
} from '../../monitoring/prometheus-api.ts';
import type { Http } from '../../runtime/http-client.ts';
import type { Counted, Life } from './compare-counters.ts';
import { successorOf } from './follow-spools.ts';
import { mergeLives } from './merge-lives.ts';
import { COUNTERS, type LivesRead } from './read-targets.ts';

/** Enough for the scrapes of 100 processes over a day, one each 15 s. */
const LIMITS = { timeoutMs: 30_000, maxAnswerBytes: 32 * 1024 * 1024 } as const;
/** Prometheus says that a process is gone when it has not been scraped for so long. */
const FRESH_MS = 5 * 60_000;
/** Read before the period as well: a process that began in it may have found in its spool what one before it had left. */
const BEFORE_MS = 3_600_000;

export type PrometheusSource = {
  readonly url: string;
  /** Label matchers, without braces. */
  readonly match: string;
  readonly http: Pick<Http, 'send'>;
};

/**
 * Reads what the processes of ingress have counted in the period: every scrape of it and of the hour before, so that a restart is
 * seen, and what was left in a spool. All counters of a scrape have the same time, so that they can be compared. What a process counted after its last scrape is not known.
 * @param from milliseconds since 1970
 * @throws where Prometheus does not answer, or its answer is too large
 */
export async function readPrometheus(
  source: PrometheusSource,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<LivesRead> {
  const range = `[${Math.ceil((to - from + BEFORE_MS) / 1_000)}s]`;
  const api = openPrometheusApi({ ...source, ...LIMITS });
  const read = (name: string, matchers: string) =>
    query(api, `${name}{${[matchers, source.match].filter(Boolean).join(',')}}${range}`, to);
  // Only ingress has it.
  const spooled = await read(COUNTERS.spooled, '');
  if (spooled.length === 0)
    return {
      lives: [],
      before: [],
      unknown: [`Prometheus has no ${COUNTERS.spooled} that matches {${source.match}}`],
    };
  const instances = [...new Set(spooled.map(({ metric }) => metric.instance ?? ''))];
  const ofThem = `instance=~${JSON.stringify(instances.map(escaped).join('|'))}`;
  const [acknowledged, written, startedAt, up] = await Promise.all([
    read(COUNTERS.acknowledged, `status="200",${ofThem}`),
    read(COUNTERS.written, ofThem),
    read(COUNTERS.startedAt, ofThem),
    read('up', ofThem),
  ]);
  const byTarget = (all: readonly Series[]) => Map.groupBy(all, targetOf);
  const found = {
    acknowledged: byTarget(acknowledged),
    written: byTarget(written),
    startedAt: byTarget(startedAt),
  };
  const scraped = spooled.flatMap((rows) => {
    const target = targetOf(rows);
    const scrapes = scrapesOf({
      spooled: [rows],
      acknowledged: found.acknowledged.get(target) ?? [],
      written: found.written.get(target) ?? [],
      startedAt: found.startedAt.get(target) ?? [],
    });
    const { pod, instance } = rows.metric;
    return livesIn(scrapes, { process: pod ?? instance ?? target, owner: ownerOf(rows) }, from);
  });
  const all = mergeLives(scraped).map((life) => ({
    ...life,
    hasEnded: life.hasEnded || life.last.at < to - FRESH_MS,
  }));
  const lives = all.filter(({ last }) => last.at >= from);
  const before = all.filter(({ last }) => last.at < from);
  return { lives, before, unknown: [...gapsIn(lives, from, to), ...notScraped(all, up, to)] };
}

const escaped = (instance: string) => instance.replaceAll(/[^\w:]/g, '\\$&');

/** What tells the series of one scraper and process from others. */
const targetOf = ({ metric }: Series): string => {
  const { __name__, status, stored, ...target } = metric;
  return JSON.stringify(Object.entries(target).sort());
};

/**
 * A pod that is made anew has its name again and its volume, and another address. Neither the job nor labels of the Prometheus server
 * are part of it: several can scrape the same process.
 */
function ownerOf({ metric }: Series): string {
  const { cluster, namespace, pod, instance } = metric;
  return JSON.stringify([cluster, namespace, pod ?? instance]);
}

type Scrape = Counted & { readonly startedAt: number | null };

function scrapesOf(
  series: Readonly<Record<'spooled' | 'acknowledged' | 'written' | 'startedAt', readonly Series[]>>,
): Scrape[] {
  const sums = (all: readonly Series[]) => {
    const at = new Map<number, number>();
    for (const { values } of all)
      for (const [time, value] of values) at.set(time, (at.get(time) ?? 0) + Number(value));
    return at;
  };
  const spooled = sums(series.spooled);
  const acknowledged = sums(series.acknowledged);
  const written = sums(series.written);
  const startedAt = sums(series.startedAt);
  return [...written.keys()]
    .filter((time) => spooled.has(time))
    .sort((a, b) => a - b)
    .map((time) => {
      const started = startedAt.get(time);
      return {
        at: time * 1_000,
        // A series begins with its first webhook.
        acknowledged: acknowledged.get(time) ?? 0,
        written: written.get(time) ?? 0,
        spooled: spooled.get(time) ?? 0,
        startedAt: started === undefined ? null : started * 1_000,
      };
    });
}

/** The scrapes of one target, divided where its process was another one. */
function livesIn(scrapes: readonly Scrape[], names: Pick<Life, 'process' | 'owner'>, from: number): Life[] {
  const lives: Life[] = [];
  let own: Scrape[] = [];
  for (const [n, scrape] of scrapes.entries()) {
    own.push(scrape);
    const next = scrapes[n + 1];
    if (next && next.startedAt === scrape.startedAt && next.written >= scrape.written) continue;
    const [first = scrape] = own;
    const { startedAt } = first;
    const isWhole = startedAt !== null && startedAt >= from;
    const base = isWhole ? null : (own.find(({ at }) => at >= from) ?? first);
    lives.push({ ...names, startedAt, base, first, last: scrape, hasEnded: next !== undefined });
    own = [];
  }
  return lives;
}

/** Parts of the period for which Prometheus has no scrapes. */
function gapsIn(lives: readonly Life[], from: number, to: number): string[] {
  if (lives.length === 0) return [`Prometheus has no counters of ingress since ${isoOf(from)}`];
  const first = Math.min(...lives.map(({ base, last }) => base?.at ?? last.at));
  const last = Math.max(...lives.map((life) => life.last.at));
  const isLate = first > from + FRESH_MS && lives.every(({ base }) => base !== null);
  return [
    ...(isLate ? [`Prometheus has no counters of ingress before ${isoOf(first)}`] : []),
    ...(last < to - FRESH_MS ? [`Prometheus has scraped no ingress since ${isoOf(last)}`] : []),
  ];
}

/**
 * Processes that may still run and are scraped no more, while others are. One that Prometheus no longer looks for is gone: `up` of a
 * target has a sample, 0 or 1, as long as service discovery knows it.
 */
function notScraped(lives: readonly Life[], up: readonly Series[], to: number): string[] {
  if (!lives.some(({ last }) => last.at >= to - FRESH_MS)) return [];
  const lookedFor = Map.groupBy(up, ownerOf);
  const mayRun = ({ owner }: Life) =>
    lookedFor.get(owner)?.some(({ values }) => (values.at(-1)?.[0] ?? 0) * 1_000 >= to - FRESH_MS) ?? true;
  return [...Map.groupBy(lives, ({ owner }) => owner).values()]
    .flatMap((ofOwner) => ofOwner.filter((life) => !successorOf(life, ofOwner)))
    .filter((life) => life.last.at < to - FRESH_MS && mayRun(life))
    .map(({ process, last }) => {
      return `${process}: Prometheus has not scraped it since ${isoOf(last.at)}, and it may still run: what it has counted since is not known`;
    });
}

async function query(api: PrometheusApi, text: string, to: number): Promise<readonly Series[]> {
  return seriesIn(await api.ask('POST', '/api/v1/query', { query: text, time: String(to / 1_000) }));
}
