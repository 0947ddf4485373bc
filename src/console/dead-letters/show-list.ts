import { isoOf } from '../../core/instant.ts';
import type { DeadLetterState } from '../../dead-letters/dead-letters.ts';
import type { describeDeadLetter } from '../../dead-letters/describe-dead-letter.ts';
import { FOREIGN } from '../../dead-letters/filter.ts';
import { address, formValue, type Html, html, type Shown } from '../page/html.ts';
import type { PageRequest } from '../page/page.ts';
import { badge, bytes, type Column, counted, type Mood, table, time } from '../page/parts.ts';
import { type DeadLetterGroup, openIn } from './group-by-cause.ts';
import type { Job } from './jobs.ts';
import { filterOptions, type Selection } from './selection.ts';
import { titleOf } from './show-job.ts';

export type DeadLetterList = Pick<Selection, 'conditions' | 'filter'> & {
  readonly topic: string;
  readonly groups: readonly DeadLetterGroup[];
  /** Of a selection, one page of its records. */
  readonly deadLetters: readonly ReturnType<typeof describeDeadLetter>[];
  readonly matching: number;
  readonly page: number;
  readonly pages: number;
  /** Something that the topic has is not held by the console; of what is open, so many. Counts are then at least what they say. */
  readonly isPartial: boolean;
  readonly openNotHeld: number;
  /** When the oldest record that is held was written, in milliseconds since 1970. */
  readonly heldSince: number | null;
  /** When the latest of the selected records was written, as the condition `until` has it; null of none. */
  readonly latest: string | null;
  readonly read: number;
  readonly total: number;
  readonly failure: string | null;
  readonly running: Job | null;
  /** The latest ones. */
  readonly jobs: readonly Job[];
};

const STATES: Readonly<Record<DeadLetterState, Mood>> = {
  open: 'bad',
  incomplete: 'bad',
  redriven: 'good',
  dismissed: 'quiet',
};

export const stateBadge = (state: DeadLetterState): Html => badge(state, STATES[state]);

export function listPageOf(list: DeadLetterList, request: PageRequest): Html {
  const { conditions, filter, matching, groups } = list;
  const isSelection = filter.length > 0;
  const open = openWords(groups, list.openNotHeld);
  return html`${isSelection && html`<p><a href="${address('/dead-letters')}">All dead-letter records</a> · ${filter.join(', ')}</p>`}
${listSection(list)}
${isSelection && matching > 0 && actionsOf(conditions, selectedSection(open, list), request)}`;
}

/** What changes while the page is open. */
export function listSection(list: DeadLetterList): Html {
  const { filter, groups, deadLetters, matching, read, total, failure, running } = list;
  return html`<section id="deadLetters">
${failure !== null && html`<p>${badge('not read now', 'bad')} ${failure}</p>`}
${read < total && html`<p>${badge('reading', 'note')} ${read} of ${total} offsets of the topic were read.</p>`}
${partOf(list)}
${running && html`<p>${badge('running', 'note')} ${jobLink(running)}: ${running.progress}</p>`}
<h2>By cause</h2>
${table('Dead-letter records by stage, code and ref', columnsOf(list), groups, noneOf(list))}
${filter.length > 0 && html`<h2>Records</h2>${listOf(deadLetters)}${pagesOf(list, matching)}`}
${list.jobs.length > 0 && html`<h2>Latest jobs</h2><ul>${list.jobs.map((job) => html`<li>${jobLink(job)}: ${job.status}, ${job.progress}</li>`)}</ul>`}
</section>`;
}

/** What stands in place of groups: where the topic was not read as a whole, nobody knows that it has none. */
function noneOf({ filter, isPartial, read, total, failure }: DeadLetterList): string {
  if (isPartial) return 'None of the records that the console holds.';
  if (failure !== null || read < total) return 'None of the records that were read so far.';
  return filter.length > 0 ? 'None of the dead-letter records.' : 'There are no dead-letter records.';
}

const jobLink = ({ id, kind, isDry, startedAt }: Job) =>
  html`<a href="${address('/dead-letters/jobs', id)}">${titleOf(kind, isDry)}</a> ${time(startedAt)}`;

/** What of the topic is not here, and what shows it. */
function partOf({ isPartial, openNotHeld, heldSince, filter }: DeadLetterList): Shown {
  if (!isPartial) return null;
  const beginning = html`<p>${badge('partial', 'note')} There are more records than the console holds.`;
  if (openNotHeld === 0)
    return html`${beginning} Every open one is here; of those that were redriven or dismissed, some are not: <code>hookline dlq list${filterOptions(filter)}</code> shows all.</p>`;
  const until = heldSince === null ? [] : [`until=${isoOf(heldSince)}`];
  return html`${beginning} ${openNotHeld} open ones, the oldest, are not counted or listed here. This command lists them: <code>hookline dlq list${filterOptions([...filter, 'state=open', ...until])}</code>. A redrive or dismissal of a selection processes them too.</p>`;
}

/** A count as words: of records that are not held, nothing tells whether they are among the selected ones. */
export const openWords = (groups: readonly DeadLetterGroup[], openNotHeld: number): string =>
  `${openNotHeld > 0 ? 'at least ' : ''}${groups.reduce((sum, group) => sum + openIn(group), 0)}`;

function columnsOf({ isPartial, openNotHeld }: DeadLetterList): readonly Column<DeadLetterGroup>[] {
  const open = openNotHeld > 0 ? ', at least' : '';
  const all = isPartial ? ', at least' : '';
  return [
    { title: 'Stage', cell: (group) => groupLink(group) },
    { title: 'Code', cell: ({ code }) => code },
    { title: 'Ref', cell: ({ ref }) => ref, isLong: true },
    {
      title: `Open${open}`,
      cell: (group) => badge(String(openIn(group)), openIn(group) > 0 ? 'bad' : 'good'),
      isNumber: true,
    },
    { title: `Redriven${all}`, cell: ({ states }) => states.redriven, isNumber: true },
    { title: `Dismissed${all}`, cell: ({ states }) => states.dismissed, isNumber: true },
    {
      title: openNotHeld > 0 ? 'Oldest open of these' : 'Oldest open',
      cell: ({ oldestAt }) => (oldestAt === null ? '' : time(oldestAt)),
    },
    { title: `Last hour${all}`, cell: ({ hour }) => hour, isNumber: true },
    { title: `Last day${all}`, cell: ({ day }) => day, isNumber: true },
    { title: `Last week${all}`, cell: ({ week }) => week, isNumber: true },
  ];
}

function groupLink({ stage, code, ref }: DeadLetterGroup): Html {
  const name = stage === FOREIGN ? 'not by Hookline' : stage;
  return html`<a href="${address('/dead-letters', { stage, code: code ?? '', ref: ref ?? '' })}">${name}</a>`;
}

const listOf = (deadLetters: DeadLetterList['deadLetters']): Html =>
  table(
    'Dead-letter records, the latest first',
    [
      { title: 'Record', cell: ({ at }) => html`<a href="${address('/dead-letters', at)}">${at}</a>` },
      { title: 'Written', cell: (deadLetter) => time(Date.parse(deadLetter.time)) },
      { title: 'State', cell: ({ state }) => stateBadge(state) },
      { title: 'Ref', cell: ({ ref }) => ref, isLong: true },
      {
        title: 'Event id',
        cell: ({ eventId }) => eventId && html`<a href="${address('/find', { q: eventId })}">${eventId}</a>`,
      },
      { title: 'Size', cell: (deadLetter) => bytes(deadLetter.bytes), isNumber: true },
    ],
    deadLetters,
    'No record is selected.',
  );

function pagesOf({ conditions, page, pages }: DeadLetterList, matching: number): Html {
  const link = (to: number, text: string) =>
    html`<a href="${address('/dead-letters', { ...conditions, page: String(to) })}">${text}</a> `;
  return html`<p class="quiet">Page ${page} of ${Math.max(1, pages)}, ${counted(matching, 'record', 'records')}. ${page > 1 && link(page - 1, 'Later ones')}${
    page < pages && link(page + 1, 'Earlier ones')
  }</p>`;
}

/**
 * It changes while the page is open: a dismissal is read from the topic after its job has ended. What came after the records that are
 * shown is not selected: nobody has seen it.
 */
export const selectedSection = (
  open: string,
  { conditions, latest }: Pick<DeadLetterList, 'conditions' | 'latest'>,
): Html => {
  const until =
    latest !== null &&
    conditions.until === undefined &&
    ['redrive', 'dismiss'].map(
      (form) => html`<input type="hidden" form="${form}" name="until" value="${latest}">`,
    );
  return html`<p id="selected">Open records that are selected: ${open}.${until}</p>`;
};

/** What may be done with a selection. */
export function actionsOf(
  conditions: Readonly<Record<string, string | undefined>>,
  selected: Html,
  { csrfField, may }: PageRequest,
): Html {
  if (!may('operate'))
    return html`<p class="quiet">Users with the role operate can redrive and dismiss these records.</p>`;
  const fields = html`${csrfField}${Object.entries(conditions).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${formValue(value)}">`,
  )}`;
  return html`<section aria-label="Actions"><h2>Redrive or dismiss</h2>
${selected}
<p>A redrive processes them again, as if they had just arrived; its dry run publishes nothing.</p>
<form id="redrive" method="post" action="/dead-letters/redrive">${fields}
<p class="buttons"><button class="second" name="dryRun" value="yes">Dry run</button> <button>Redrive</button></p></form>
<form id="dismiss" method="post" action="/dead-letters/dismiss">${fields}
<div class="fields"><div class="wide"><label for="reason">Reason for dismissing them <span class="hint">Everybody who reads the topic sees it. No secrets, no payment data.</span></label>
<input id="reason" name="reason" maxlength="500" required></div></div>
<p class="buttons"><button class="danger">Dismiss</button></p></form></section>`;
}
