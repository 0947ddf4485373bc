import type { KeyRow } from '../../cli/keys/key-rows.ts';
import { type Html, html, type Shown } from '../page/html.ts';
import type { PlotData } from '../page/page.ts';
import {
  badge,
  bytes,
  counted,
  duration,
  figure,
  type Mood,
  plot,
  rate,
  type Series,
  table,
  time,
} from '../page/parts.ts';
import { type KeysKnown, notMatched } from '../watch/ingress-keys.ts';
import type { Point } from '../watch/watch.ts';
import type { Verdict } from './judge.ts';
import { PROBLEM_PAGES, type Problem } from './problem.ts';
import type { PodLine } from './summarize.ts';

export type Overview = {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly verdict: Verdict;
  readonly latest: Point | null;
  readonly points: readonly Point[];
  readonly plotsFrom: string;
  readonly pods: readonly PodLine[];
  readonly keys: readonly KeyRow[];
  readonly keysKnown: KeysKnown;
  /** The latest point at which every ingress said what its spool holds. */
  readonly lastSpooled: Point | null;
};

type Section = { readonly id: string; readonly html: Html; readonly isPlots?: boolean };

/** The page from top to bottom; each section is replaced by itself while the page is open. */
export const sectionsOf = (overview: Overview): Section[] => [
  { id: 'verdict', html: verdictOf(overview.verdict) },
  { id: 'figures', html: figuresOf(overview) },
  { id: 'plots', html: plotSection(overview), isPlots: true },
  { id: 'pods', html: podsOf(overview) },
  { id: 'keys', html: keyTable(overview) },
];

const MOODS: Readonly<Record<Verdict['state'], Mood>> = {
  well: 'good',
  look: 'note',
  act: 'bad',
  unknown: 'quiet',
};

const verdictOf = ({
  state,
  sentence,
  problems,
}: Verdict): Html => html`<section id="verdict" class="verdict ${MOODS[state]}" aria-label="Verdict">
<p class="sentence">${sentence}</p>
${problems.length > 0 && html`<ol class="problems">${problems.map(problemOf)}</ol>`}
</section>`;

const problemOf = ({ severity, what, remedy, command, page, runbook }: Problem): Html => html`<li>
<p class="what">${severity === 'act' ? badge('Act now', 'bad') : badge('Look today', 'note')} ${what}</p>
<p class="remedy">${remedy}${page !== undefined && html` <a href="${page}">${PROBLEM_PAGES[page]}</a>`}${command !== undefined && html` <code>${command}</code>`}${runbook && html` <a href="${runbook}" rel="noreferrer">Runbook</a>`}</p>
</li>`;

const or = <T>(value: T | null | undefined, show: (value: T) => Shown): Shown =>
  value === null || value === undefined ? html`<span class="quiet">–</span>` : show(value);

function figuresOf(overview: Overview): Html {
  const { latest, pods } = overview;
  // One that stands by compares nothing and asks nobody: its zeros say nothing.
  const control = pods.find(({ isWorking }) => isWorking);
  const drift = Object.entries(control?.drift ?? {}).filter(([, value]) => value > 0);
  const drifted = drift.reduce((total, [, value]) => total + value, 0);
  const deadLetters = pods.reduce<number | null>(
    (most, { deadLettersOpen: open }) => (open === null ? most : Math.max(most ?? 0, open)),
    null,
  );
  const ready = pods.filter(({ state }) => state === 'ready').length;
  const moodOf = (value: number | null | undefined, mood: Mood) => ((value ?? 0) > 0 ? mood : undefined);
  return html`<section id="figures" aria-label="Now"><dl class="figures">
${figure('Webhooks stored', or(latest?.kafka, rate), 'per second')}
${figure('Refused, 4xx', or(latest?.refused, rate), 'per second')}
${figure('Not stored, 5xx', or(latest?.failed, rate), 'per second', moodOf(latest?.failed, 'bad'))}
${figure('Acknowledged, p50', or(latest?.p50, duration))}
${figure('Acknowledged, p99', or(latest?.p99, duration))}
${figure('Published, p99', or(latest?.publishP99, duration))}
${spoolFigure(overview)}
${figure('Commands waiting', or(latest?.lag, String))}
${figure('Provider', control ? (control.breakerOpen ? 'unavailable' : 'answers') : '–', control && (control.tokenSeconds === null ? 'no token yet' : `token ${duration(control.tokenSeconds)} old`), control?.breakerOpen ? 'bad' : undefined)}
${figure('Drift', or(control && drifted, String), drift.map(([kind, value]) => `${value} ${kind}`).join(', ') || undefined, moodOf(drifted, 'note'))}
${figure('Dead letters open', or(deadLetters, String), undefined, moodOf(deadLetters, 'note'))}
${figure('Processes ready', pods.length === 0 ? '–' : `${ready} of ${pods.length}`, undefined, ready < pods.length ? 'bad' : undefined)}
</dl></section>`;
}

/** What a process that does not answer has on its disk is no zero, and no missing spool. */
function spoolFigure({ latest, lastSpooled, pods, keysKnown: { unknown } }: Overview): Html {
  const name = 'In the spool';
  if (unknown !== null) {
    const last = lastSpooled && html`; last read ${lastSpooled.spooled} at ${time(lastSpooled.at * 1_000)}`;
    return figure(name, 'unknown', html`${unknown.replace('unknown: ', '')}${last}`, 'note');
  }
  const spools = pods.filter(({ spooled }) => spooled !== null);
  const held = spools.reduce((sum, { spoolBytes }) => sum + (spoolBytes ?? 0), 0);
  const mood = (latest?.spooled ?? 0) > 0 ? 'note' : undefined;
  return figure(name, or(latest?.spooled, String), spools.length > 0 ? bytes(held) : 'no spool', mood);
}

type PlotOf = {
  readonly id: string;
  readonly title: string;
  readonly unit: string;
  readonly series: readonly (Series & { readonly of: keyof Point })[];
};

const PLOTS: readonly PlotOf[] = [
  {
    id: 'plot-webhooks',
    title: 'Webhooks',
    unit: 'per second',
    series: [
      { name: 'Kafka', of: 'kafka', tone: 'good' },
      { name: 'spool', of: 'spool', tone: 'note' },
      { name: '4xx', of: 'refused', tone: 'two' },
      { name: '5xx', of: 'failed', tone: 'bad' },
    ],
  },
  {
    id: 'plot-answers',
    title: 'Acknowledgement',
    unit: 'seconds',
    series: [
      { name: 'p50', of: 'p50', tone: 'one' },
      { name: 'p99', of: 'p99', tone: 'two' },
      { name: 'published, p99', of: 'publishP99', tone: 'note' },
    ],
  },
  {
    id: 'plot-spool',
    title: 'Spool',
    unit: 'deliveries',
    series: [{ name: 'waiting', of: 'spooled', tone: 'note' }],
  },
  {
    id: 'plot-lag',
    title: 'Commands',
    unit: 'waiting',
    series: [{ name: 'waiting', of: 'lag', tone: 'one' }],
  },
];

/** Digits that a picture shows. */
const DIGITS = 1_000;

export const plotsOf = ({ points }: Overview): { id: string; data: PlotData }[] =>
  PLOTS.map(({ id, series }) => ({
    id,
    data: [
      points.map(({ at }) => at),
      ...series.map(({ of }) =>
        points.map(({ [of]: value }) => (value === null ? null : Math.round(value * DIGITS) / DIGITS)),
      ),
    ],
  }));

function plotSection(overview: Overview): Html {
  const data = new Map(plotsOf(overview).map((one) => [one.id, one.data]));
  const plots = PLOTS.map(({ id, title, unit, series }) =>
    plot(
      id,
      title,
      unit,
      series.map(({ name, tone }) => ({ name, tone })),
      data.get(id) ?? [],
    ),
  );
  return html`<section id="plots"><h2>The last hour <small>in UTC, read by ${overview.plotsFrom}</small></h2>
<div class="plots">${plots}</div></section>`;
}

const podsOf = ({ pods }: Overview): Html => html`<section id="pods"><h2>Processes</h2>
${table(
  'Processes, whether they are ready, and why not',
  [
    { title: 'address', cell: ({ address }: PodLine) => html`<code>${address}</code>` },
    {
      title: 'process',
      cell: ({ process, isWorking }) => (isWorking === false ? `${process}, stands by` : process),
    },
    { title: 'state', cell: ({ state }) => badge(state, state === 'ready' ? 'good' : 'bad') },
    { title: 'reasons', cell: ({ reasons }) => reasons.join('; ') || html`<span class="quiet">none</span>` },
    { title: 'memory', cell: ({ memoryBytes }) => or(memoryBytes, bytes), isNumber: true },
    {
      title: 'longest pause',
      cell: ({ loopDelaySeconds }) => or(loopDelaySeconds, duration),
      isNumber: true,
    },
  ],
  pods,
  'No process is read.',
)}</section>`;

/** Of more refs than fit on a page the quiet ones are not news. */
const MAX_KEYS = 20;

const keyTable = ({ keys, keysKnown }: Overview): Html => html`<section id="keys"><h2>Keys by last match</h2>
${table(
  'Keys of subscriptions, by when they last matched a webhook',
  [
    { title: 'ref', cell: ({ ref }: KeyRow) => html`<code>${ref}</code>` },
    { title: 'use', cell: ({ use }) => use },
    {
      title: 'key',
      cell: ({ key }) => (key === '0' ? 'current' : badge(`${key} before the current one`, 'note')),
    },
    {
      title: 'last match',
      cell: ({ lastMatched }) =>
        lastMatched === null ? notMatched(keysKnown) : time(Date.parse(lastMatched)),
    },
  ],
  keys.slice(0, MAX_KEYS),
  keysKnown.unknown ?? 'There are no live keys.',
)}
${keys.length > MAX_KEYS && html`<p class="quiet">${counted(keys.length - MAX_KEYS, 'further key', 'further keys')} matched earlier, or not since ingress started.</p>`}
${keys.length > 0 && keysKnown.unknown !== null && html`<p class="quiet">Other keys and later matches are ${keysKnown.unknown}.</p>`}</section>`;
