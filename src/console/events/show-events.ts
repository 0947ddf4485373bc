import type { TopicKind } from '../../cli/inspect/describe-record.ts';
import { isoOf } from '../../core/instant.ts';
import { OWN_TOPICS, topicName } from '../../core/names.ts';
import { positionText } from '../../core/record.ts';
import { shellCommand } from '../../core/shell-word.ts';
import { address, formValue, type Html, html } from '../page/html.ts';
import type { PageRequest } from '../page/page.ts';
import { badge, bytes, counted, table, time } from '../page/parts.ts';
import { revealField } from '../page/reveal.ts';
import { type EventFilter, FILTERS } from './filter.ts';
import { clip, fieldsText, type ShownRecord } from './show-record.ts';

export type Events = {
  readonly topic: string;
  /** What its records are. */
  readonly holds: TopicRecords;
  /** The one record that is shown; null for the latest ones. */
  readonly at: string | null;
  readonly filter: EventFilter;
  readonly records: readonly ShownRecord[];
  readonly looked: number;
  readonly total: number;
};

/** Characters that are shown of one record: of its fields, its message and each of its headers. */
type Limits = { readonly text: number; readonly header: number; readonly headers: number };

const IN_LIST: Limits = { text: 1_000, header: 100, headers: 15 };
/** The others are a line each until they are opened. */
const OPEN_IN_LIST = 3;
const ALONE: Limits = { text: 15_000, header: 1_000, headers: 50 };

export type Topics = {
  readonly topics: readonly { readonly topic: string; readonly kind: TopicKind; readonly records: string }[];
};

export const topicsOf = ({ topics }: Topics): Html =>
  table(
    'Topics',
    [
      { title: 'Topic', cell: ({ topic }) => html`<a href="${address('/events', topic)}">${topic}</a>` },
      { title: 'Records', cell: ({ records }) => records },
    ],
    topics,
    'There are no topics: run hookline topics apply.',
  );

/** What the records of a topic are. */
export type TopicRecords =
  | 'events'
  | 'dead-letter records'
  | 'commands'
  | 'results of commands'
  | 'subscriptions'
  | 'audit trail'
  | 'probes';

const KINDS: Readonly<Record<TopicKind, TopicRecords>> = {
  event: 'events',
  'dead letter': 'dead-letter records',
  command: 'commands',
  result: 'results of commands',
  state: 'subscriptions',
};

/** What a topic's records are: two of Hookline's own topics have the form of events, and are none. */
export function recordsOf(topic: string, kind: TopicKind, prefix: string): TopicRecords {
  if (topic === topicName(prefix, OWN_TOPICS.audit)) return 'audit trail';
  return topic === topicName(prefix, OWN_TOPICS.probe) ? 'probes' : KINDS[kind];
}

const LABELS: Readonly<Record<(typeof FILTERS)[number], string>> = {
  key: 'Key or entity',
  type: 'Event type',
  ref: 'Ref',
  id: 'Event id',
};

export function eventsOf(events: Events, request: PageRequest): Html {
  const { topic, at, filter, records, looked, total } = events;
  if (at !== null)
    return html`<p><a href="${address('/events', topic)}">${topic}</a>, record ${at}</p>
<form method="get" action="${address('/events', topic)}"><input type="hidden" name="at" value="${at}">
${request.may('reveal') && html`${revealField(request)}<p class="buttons"><button class="second">Show</button></p>`}</form>
<h2>Record</h2>
${records.map((record) => recordOf(record, ALONE, true))}`;
  return html`<p><a href="${address('/events')}">All topics</a> · <code>${topic}</code></p>
<form method="get" action="${address('/events', topic)}">
<div class="fields">${FILTERS.map(
    (name) =>
      html`<div><label for="filter-${name}">${LABELS[name]}</label><input id="filter-${name}" name="${name}" value="${formValue(filter[name])}" autocomplete="off" spellcheck="false"></div>`,
  )}</div>
${revealField(request)}
<p class="buttons"><button>Filter</button></p>
</form>
<h2>Latest records</h2>
${records.length > 0 && html`<p class="quiet">${records.length} shown, the latest first; looked at ${looked} of ${total} offsets.<span data-if-live hidden> New ones appear above.</span></p>`}
<div id="records">${records.length > 0 ? records.map((record, n) => recordOf(record, IN_LIST, n < OPEN_IN_LIST)) : noneOf(events)}</div>`;
}

/** Why there are no records, and what to do. It is hidden when one arrives. */
function noneOf({ topic, holds, filter, looked, total }: Events): Html {
  const isFiltered = Object.keys(filter).length > 0;
  const wanted = filter.id ?? filter.key ?? filter.ref;
  if (total > 0)
    return html`<div class="none"><p>None of the latest ${looked} of ${total} offsets has ${isFiltered ? 'such a' : 'a'} record.</p>
${isFiltered && html`<p><a href="${address('/events', topic)}">Show the latest records</a>${wanted !== undefined && html`, or <a href="${address('/find', { q: wanted })}">search all topics</a>`}.</p>`}</div>`;
  return html`<div class="none"><p>The topic is empty: nothing was written to it yet, or retention has deleted it.</p>
<p>${AWAITED[holds]}</p><p class="quiet" data-if-live hidden>A record that arrives appears here.</p></div>`;
}

const link = (path: `/${string}`, name: string): Html => html`<a href="${address(path)}">${name}</a>`;

/** What comes into an empty topic, and what to do where something was expected. */
const AWAITED: Readonly<Record<TopicRecords, Html>> = {
  events: html`Ingress writes an event here for each webhook that belongs to this topic. If you expect some, see in ${link('/subscriptions', 'Subscriptions')} whether they are subscribed to, and in ${link('/dead-letters', 'Dead letters')} whether they could not be processed. <code>hookline verify</code> sends a probe all the way.`,
  'dead-letter records': html`What cannot be processed comes here. There is nothing to do.`,
  commands: html`Teams write commands here, and control executes them. ${link('/commands', 'Commands')} sends one.`,
  'results of commands': html`Control writes a result here for each command. ${link('/commands', 'Commands')} sends one.`,
  subscriptions: html`Control writes here what it has subscribed to. Send subscription.create in ${link('/commands', 'Commands')}, or apply a file in ${link('/subscriptions', 'Subscriptions')}.`,
  'audit trail': html`What users of the console change or reveal comes here.`,
  probes: html`<code>hookline verify</code> sends probes, which come here.`,
};

/** What came since, the oldest first: each is put above the one before it. */
export function newsOf(records: readonly ShownRecord[], skipped: number): Html[] {
  const note =
    skipped > 0
      ? [
          html`<p class="quiet">${counted(skipped, 'record was', 'records were')} skipped, as records arrive faster than they are shown: hookline tail prints all.</p>`,
        ]
      : [];
  return [...note, ...records.map((record) => recordOf(record, IN_LIST, true))];
}

function recordOf(record: ShownRecord, limits: Limits, isOpen: boolean): Html {
  const { topic, key, headers, fields, source } = record;
  const at = positionText(record);
  return html`<article class="record">
<h3><a href="${address('/events', topic, { at })}">${at}</a> ${time(Date.parse(record.time))} <span class="quiet">key</span> ${
    key === null ? html`<span class="quiet">none</span>` : clip(key, limits.header)
  }</h3>
<details${isOpen && html` open`}><summary>${typeOf(record)}</summary>
${!record.isWhole && html`<p>${badge('large', 'note')} The value has ${bytes(record.bytes)}; the console reads its beginning. <code>${tailOf(topic, [record])}</code> shows all of it.</p>`}
${record.schemaFault !== null && html`<p>${badge('not decoded', 'bad')} ${record.schemaFault}</p>`}
<div class="beside"><div><h4>Fields</h4><pre class="wrap">${fieldsText(fields, limits.text)}</pre></div>
${source !== null && html`<div><h4>Message</h4><pre class="wrap">${clip(source, limits.text)}</pre></div>`}</div>
<details><summary>Headers</summary>${headersOf(headers, limits)}</details>
</details></article>\n`;
}

/** The command that shows these records and later ones: without `--since` it shows those that arrive. */
export function tailOf(
  topic: string,
  records: readonly Pick<ShownRecord, 'time'>[],
  options: readonly string[] = [],
): string {
  const times = records.map(({ time: text }) => Date.parse(text)).filter((ms) => !Number.isNaN(ms));
  const since = times.length > 0 && `--since ${isoOf(Math.min(...times))}`;
  return shellCommand('hookline tail', topic, [since, ...options]);
}

/** What it is, in a word or two. */
const typeOf = ({ headers, bytes: size }: ShownRecord): Html =>
  html`${headers.ce_type ?? 'Record'} <span class="quiet">${bytes(size)}</span>`;

function headersOf(headers: ShownRecord['headers'], { header, headers: most }: Limits): Html {
  const all = Object.entries(headers);
  const shown = all
    .slice(0, most)
    .map(([name, value]) => html`<dt>${clip(name, header)}</dt><dd>${clip(value, header)}</dd>`);
  const more = all.length - most;
  return html`<dl class="facts">${shown}</dl>${more > 0 && html`<p class="quiet">and ${counted(more, 'more header', 'more headers')}</p>`}`;
}
