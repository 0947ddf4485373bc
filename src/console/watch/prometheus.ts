import type { Http } from '../../runtime/http-client.ts';
import type { Point } from './watch.ts';

/** What a Prometheus knows of this installation. */
export type Prometheus = {
  /** The last hour, oldest first. */
  points(): Promise<readonly Point[]>;
  /** Alerts of Hookline that fire. */
  alerts(): Promise<readonly Alert[]>;
};

export type Alert = {
  readonly name: string;
  readonly severity: string;
  readonly summary: string;
  readonly description: string;
  /** An http or https address. */
  readonly runbook: string | null;
};

const STEP_SECONDS = 15;
const HOUR_SECONDS = 3_600;
const LIMITS = { timeoutMs: 5_000, maxAnswerBytes: 4 * 1024 * 1024 } as const;

/** @param match label matchers, such as `namespace="payments"` */
export function openPrometheus(deps: {
  readonly url: string;
  readonly match: string;
  readonly http: Pick<Http, 'send'>;
  readonly now: () => number;
}): Prometheus {
  const { url, http } = deps;
  const match = (more: string) => `{${[deps.match, more].filter(Boolean).join(',')}}`;
  const rate = (more: string) => `sum(rate(hookline_deliveries_total${match(more)}[1m]))`;
  const quantile = (q: number, histogram: string, more: string) =>
    `histogram_quantile(${q}, sum by (le) (rate(${histogram}_bucket${match(more)}[1m])))`;
  const queries: Readonly<Record<Exclude<keyof Point, 'at'>, string>> = {
    kafka: rate('stored="kafka"'),
    spool: rate('stored="spool"'),
    refused: rate('status=~"4.."'),
    failed: rate('status=~"5.."'),
    p50: quantile(0.5, 'hookline_delivery_seconds', 'stored!="none"'),
    p99: quantile(0.99, 'hookline_delivery_seconds', 'stored!="none"'),
    publishP99: quantile(0.99, 'hookline_publish_seconds', ''),
    spooled: `sum(hookline_spool_deliveries${match('')})`,
    lag: `sum(max by (topic, partition) (hookline_command_lag${match('')}))`,
  };
  const get = async (path: string, query: Readonly<Record<string, string>>): Promise<unknown> => {
    const address = `${url}${path}?${new URLSearchParams(query)}`;
    const { status, body } = await http.send({ method: 'GET', url: address, headers: {}, ...LIMITS });
    if (status !== 200) throw new Error(`PROMETHEUS_URL answers ${status}`);
    return (JSON.parse(body) as { data?: unknown }).data;
  };
  return {
    async points() {
      const end = Math.floor(deps.now() / 1_000 / STEP_SECONDS) * STEP_SECONDS;
      const range = { start: String(end - HOUR_SECONDS), end: String(end), step: String(STEP_SECONDS) };
      const series = await Promise.all(
        Object.entries(queries).map(async ([name, query]) => {
          const data = await get('/api/v1/query_range', { query, ...range });
          return [name, valuesIn(data)] as const;
        }),
      );
      const times = Array.from(
        { length: HOUR_SECONDS / STEP_SECONDS + 1 },
        (_, n) => end - HOUR_SECONDS + n * STEP_SECONDS,
      );
      return times.map((at) => {
        const values = series.map(([name, found]) => [name, found.get(at) ?? null]);
        return { at, ...Object.fromEntries(values) } as Point;
      });
    },
    async alerts() {
      const query = `ALERTS${match('alertstate="firing",alertname=~"Hookline.*"')}`;
      const [firing, told] = await Promise.all([get('/api/v1/query', { query }), get('/api/v1/alerts', {})]);
      const names = new Set(resultsIn(firing).map(({ metric }) => metric?.alertname ?? ''));
      const { alerts = [] } = (told ?? {}) as { alerts?: readonly ToldAlert[] };
      return alerts
        .filter(({ labels, state }) => state === 'firing' && names.has(labels.alertname ?? ''))
        .map(alertOf);
    },
  };
}

type ToldAlert = {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly state: string;
};

function alertOf({ labels, annotations }: ToldAlert): Alert {
  const { summary = '', description = '', runbook_url: runbook = '' } = annotations;
  const { alertname: name = '', severity = '' } = labels;
  return { name, severity, summary, description, runbook: /^https?:\/\//.test(runbook) ? runbook : null };
}

type Result = {
  readonly metric?: Readonly<Record<string, string>>;
  readonly values?: readonly (readonly [number, string])[];
};

const resultsIn = (data: unknown): readonly Result[] =>
  (data as { result?: readonly Result[] } | null)?.result ?? [];

/** By time. NaN, as of a quantile of nothing, is no value. */
function valuesIn(data: unknown): Map<number, number> {
  const [first] = resultsIn(data);
  const values = (first?.values ?? []).map(([at, value]) => [at, Number(value)] as const);
  return new Map(values.filter(([, value]) => Number.isFinite(value)));
}
