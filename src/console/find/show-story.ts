import { positionText, recordName } from '../../core/record.ts';
import type { PartitionCoverage } from '../index/read-topic.ts';
import type { TopicCoverage } from '../index/record-index.ts';
import { address, formValue, type Html, html } from '../page/html.ts';
import type { PageRequest } from '../page/page.ts';
import { badge, counted, type Mood, table, time } from '../page/parts.ts';
import { revealField } from '../page/reveal.ts';
import type { Story } from './find-story.ts';
import type { ScanState } from './scan.ts';
import type { StoryLine } from './tell-story.ts';

export const pageOf = (story: Story, request: PageRequest): Html => html`
<form method="get" action="/find" role="search">
<div class="fields"><div class="wide"><label for="q">Event id, entity, ref or command id</label>
<input id="q" name="q" value="${formValue(story.wanted)}" autocomplete="off" autocapitalize="off" spellcheck="false" maxlength="1000" required></div></div>
${revealField(request)}
<p class="buttons"><button>Find</button></p>
</form>
${storySection(story, request)}
${coverageSection(story)}`;

const MOODS: Readonly<Record<string, Mood>> = {
  stored: 'good',
  redriven: 'good',
  repeat: 'note',
  'dead-lettered': 'bad',
  dismissed: 'note',
  drift: 'bad',
};

export function storySection(story: Story, request: PageRequest): Html {
  if (story.wanted === '') return html`<section id="story"></section>`;
  const shown = html`${table<StoryLine>(
    `The story of ${story.wanted}`,
    [
      { title: 'When', cell: (line) => time(Date.parse(line.time)) },
      { title: 'Step', cell: ({ step }) => badge(step, MOODS[step] ?? 'quiet') },
      { title: 'What', cell: ({ what }) => what, isLong: true },
      { title: 'Record', cell: (line) => positionOf(line, story.coverage), isLong: true },
    ],
    story.lines,
    'Nothing was found in what is indexed. A search finds whole ids and names, in their case: no part of one.',
  )}
${story.earlier.map(
  ({ topic, count, atLeast }) =>
    html`<p class="quiet">${topic} has ${atLeast && 'at least '}${counted(count, 'earlier record', 'earlier records')} about it; <code>hookline inspect --limit</code> shows more.</p>`,
)}`;
  return html`<section id="story"><h2>Story</h2>${shown}${scanOf(story, request)}</section>`;
}

function positionOf({ at, step }: StoryLine, coverage: Story['coverage']) {
  if (at === null) return '';
  const { topic } = at;
  const isDeadLetter = coverage.some((one) => one.topic === topic && one.kind === 'dead letter');
  const page =
    isDeadLetter && step === 'dead-lettered'
      ? address('/dead-letters', positionText(at))
      : address('/events', topic, { at: positionText(at) });
  return html`<a class="position" href="${page}">${recordName(at)}</a>`;
}

const ENDS: Readonly<Record<ScanState['status'], string>> = {
  waiting: 'This search of what is not indexed begins when those of other users have ended',
  running: 'Searching what is not indexed',
  done: 'Everything that is not indexed was searched',
  limited: 'The search has reached its limit; search on to go on from there',
  failed: 'The search has failed; search on to try again',
  stopped: 'Another search of yours has taken its place; search on to go on',
};

function scanOf({ wanted, scan, unsearched }: Story, { csrfField }: PageRequest): Html {
  const state =
    scan &&
    html`<p role="status">${ENDS[scan.status]}: ${scan.read} of ${scan.total} offsets, ${counted(scan.found, 'record', 'records')} found.${
      scan.message !== null && ` ${scan.message}.`
    }</p><progress max="${Math.max(1, scan.total)}" value="${scan.read}" aria-label="Offsets that were searched"></progress>`;
  const isDone = ['waiting', 'running'].includes(scan?.status ?? '') || unsearched === 0;
  const button =
    !isDone &&
    html`<form method="post" action="/find">${csrfField}<input type="hidden" name="q" value="${formValue(wanted)}">
<p>${counted(unsearched, 'offset is', 'offsets are')} not in the index${scan?.status === 'done' && ' any more, or not yet'}. <button class="second">Search them too</button></p></form>`;
  return html`${state}${button}`;
}

const uncovered = ({ oldest, first, next, end }: PartitionCoverage): number =>
  Math.max(0, end - oldest) - Math.max(0, Math.min(next, end) - Math.max(first, oldest));

export const coverageSection = ({
  coverage,
  failure,
}: Pick<Story, 'coverage' | 'failure'>): Html => html`<section id="coverage">
<h2>What is indexed</h2>
${failure !== null && html`<p>${badge('not read now', 'bad')} ${failure}</p>`}
<details id="coverage-by-topic"><summary id="coverage-summary">${summaryOf(coverage)}</summary>
${table<TopicCoverage>(
  'Indexed offsets by topic',
  [
    { title: 'Topic', cell: ({ topic }) => html`<a href="${address('/events', topic)}">${topic}</a>` },
    { title: 'Indexed', cell: indexedOf },
    { title: 'Offsets by partition', cell: offsetsOf },
  ],
  coverage,
  'No topic was read yet.',
)}</details></section>`;

function summaryOf(coverage: readonly TopicCoverage[]): Html {
  const whole = coverage.filter(
    ({ partitions, failure }) =>
      failure === null && partitions.length > 0 && partitions.every((one) => uncovered(one) === 0),
  ).length;
  const isWhole = whole === coverage.length && whole > 0;
  return html`${badge(isWhole ? 'complete' : 'partial', isWhole ? 'good' : 'note')} ${whole} of ${coverage.length} topics are indexed as a whole`;
}

function indexedOf({ partitions, failure }: TopicCoverage) {
  const total = partitions.reduce((sum, { oldest, end }) => sum + Math.max(0, end - oldest), 0);
  const left = partitions.reduce((sum, one) => sum + uncovered(one), 0);
  const share = total === 0 ? 100 : Math.floor(((total - left) / total) * 100);
  if (failure !== null) return html`<div>${badge('waits', 'bad')} ${failure}</div>`;
  if (partitions.length === 0) return badge('not read yet', 'quiet');
  return html`<div>${badge(left === 0 ? 'complete' : `${share} %`, left === 0 ? 'good' : 'note')} ${total - left} of ${total}</div>`;
}

/** A topic may have hundreds. */
const MAX_PARTITIONS = 12;

function offsetsOf({ partitions }: TopicCoverage) {
  const shown = partitions
    .slice(0, MAX_PARTITIONS)
    .map(({ partition, first, next, end }) =>
      next > first
        ? html`<div class="quiet">${partition}: ${first} to ${next - 1} of ${end}</div>`
        : html`<div class="quiet">${partition}: none of ${end}</div>`,
    );
  const more = partitions.length - MAX_PARTITIONS;
  // One element: on a narrow screen a cell stands beside its title.
  return html`<div>${shown}${more > 0 && html`<div class="quiet">and ${counted(more, 'more partition', 'more partitions')}</div>`}</div>`;
}
