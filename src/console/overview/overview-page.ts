import type { ConsoleDeps } from '../page/console-deps.ts';
import { html } from '../page/html.ts';
import { definePage, type LiveUpdate, type Page, type PageRequest } from '../page/page.ts';
import { type Alert, openPrometheus } from '../watch/prometheus.ts';
import type { Point, Watching } from '../watch/watch.ts';
import { judge } from './judge.ts';
import { type Overview, plotsOf, sectionsOf } from './show-overview.ts';
import { describePods, keysOf } from './summarize.ts';

/** How long what Prometheus said is used: several readers of the page ask it once. */
const PROMETHEUS_MS = 10_000;

/**
 * Is it well, and if not, what is wrong and what to do. Below it the figures, an hour of plots, the processes and the keys.
 * @param deadLettersFault why this console cannot read the dead-letter topic now
 */
export function overviewPage(
  { config, clock }: ConsoleDeps,
  { watch, http }: Watching,
  deadLettersFault: () => string | null,
): Page {
  const { targets, prometheusUrl, prometheusMatch } = config.console;
  const prometheus =
    prometheusUrl &&
    openPrometheus({ url: prometheusUrl, match: prometheusMatch, http, now: () => clock.wall() });
  type Known = { points: readonly Point[]; alerts: readonly Alert[]; fault: string | null };
  let known: { readonly at: number; readonly answer: Promise<Known> } | undefined;
  const ask = async (): Promise<Known> => {
    if (!prometheus) return { points: watch.points(), alerts: [], fault: null };
    if (!known || clock.now() - known.at > PROMETHEUS_MS) {
      const answer = Promise.all([prometheus.points(), prometheus.alerts()]).then(
        ([points, alerts]) => ({ points, alerts, fault: null }),
        (error: Error) => ({ points: watch.points(), alerts: [], fault: error.message }),
      );
      known = { at: clock.now(), answer };
    }
    return known.answer;
  };
  const look = async (): Promise<Overview> => {
    const { points, alerts, fault } = await ask();
    const pods = watch.pods();
    const now = clock.wall();
    const verdict = judge({
      pods,
      alerts,
      now,
      hasTargets: targets.length > 0,
      recent: watch.recent(),
      prometheusFault: fault,
      deadLettersFault: deadLettersFault(),
    });
    const plotsFrom = prometheus && fault === null ? 'Prometheus' : 'this console';
    const latest = watch.points().at(-1) ?? points.at(-1) ?? null;
    return {
      at: now,
      verdict,
      latest,
      points,
      plotsFrom,
      pods: describePods(pods ?? [], now),
      ...keysOf(pods),
      lastSpooled: watch.points().findLast(({ spooled }) => spooled !== null) ?? null,
    };
  };
  return definePage<Overview>({
    path: '/',
    title: 'Overview',
    navigation: 'Overview',
    role: 'view',
    cli: () => 'hookline doctor',
    data: look,
    render(overview) {
      const [verdict, ...sections] = sectionsOf(overview).map((section) => section.html);
      // Around what is replaced: a screen reader follows what stays.
      return html`<div aria-live="polite">${verdict}</div>${sections.slice(0, -2)}<div class="wide-beside">${sections.slice(-2)}</div>`;
    },
    async *live({ signal }: PageRequest): AsyncIterable<LiveUpdate> {
      // Only what differs is sent: a screen reader reads what changes, and nothing else.
      const sent = new Map<string, string>();
      while (!signal.aborted) {
        const overview = await look();
        for (const section of sectionsOf(overview).filter(({ isPlots }) => !isPlots)) {
          if (sent.get(section.id) !== String(section.html)) yield section;
          sent.set(section.id, String(section.html));
        }
        yield* plotsOf(overview).map(({ id, data }) => ({ id, plot: data }));
        await watch.next(signal);
      }
    },
  });
}
