import { openPrometheusApi, seriesIn } from '../../monitoring/prometheus-api.ts';
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
  const api = openPrometheusApi({ url: deps.url, http: deps.http, ...LIMITS });
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
  return {
    async points() {
      const end = Math.floor(deps.now() / 1_000 / STEP_SECONDS) * STEP_SECONDS;
      const range = { start: String(end - HOUR_SECONDS), end: String(end), step: String(STEP_SECONDS) };
      const series = await Promise.all(
        Object.entries(queries).map(async ([name, query]) => {
          const data = await api.ask('GET', '/api/v1/query_range', { query, ...range });
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
      const [firing, told] = await Promise.all([
        api.ask('GET', '/api/v1/query', { query }),
        api.ask('GET', '/api/v1/alerts', {}),
      ]);
      const ours = seriesIn(firing).map(({ metric }) => metric);
      // That address knows the alerts of all installations, and no matchers.
      const isOurs = ({ labels }: ToldAlert) =>
        ours.some((metric) => Object.entries(labels).every(([name, value]) => metric[name] === value));
      const { alerts = [] } = (told ?? {}) as { alerts?: readonly ToldAlert[] };
      return alerts.filter((alert) => alert.state === 'firing' && isOurs(alert)).map(alertOf);
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

/** By time. NaN, as of a quantile of nothing, is no value. */
function valuesIn(data: unknown): Map<number, number> {
  const [first] = seriesIn(data);
  const values = (first?.values ?? []).map(([at, value]) => [at, Number(value)] as const);
  return new Map(values.filter(([, value]) => Number.isFinite(value)));
}
