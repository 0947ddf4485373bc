import { outcomeText } from '../../dead-letters/outcomes.ts';
import { address, type Html, html } from '../page/html.ts';
import type { PageRequest } from '../page/page.ts';
import { badge, type Mood, table, time } from '../page/parts.ts';
import type { Job } from './jobs.ts';

const MOODS: Readonly<Record<Job['status'], Mood>> = {
  running: 'note',
  done: 'good',
  stopped: 'note',
  failed: 'bad',
};

/** Around what is replaced: a screen reader follows what stays, and reads the end of a job, not each step. */
export const jobOf = (job: Job, request: PageRequest): Html => html`
<p><a href="${address('/dead-letters')}">Dead-letter records</a></p>
<div aria-live="polite">${jobSection(job, request)}</div>`;

export function jobSection(job: Job, { csrfField, may }: PageRequest): Html {
  const { id, kind, isDry, again, filter, reason, by, status, total, done, progress } = job;
  const stop =
    status === 'running' &&
    may('operate') &&
    html`<form method="post" action="/dead-letters/stop">${csrfField}<input type="hidden" name="id" value="${id}"><button class="second">Stop after the records in progress</button></form>`;
  return html`<section id="job" aria-busy="${String(status === 'running')}">
<h2>${badge(status, MOODS[status])} ${titleOf(kind, isDry)}</h2>
<p>${progress}</p>
<progress max="${Math.max(1, total ?? 1)}" value="${status === 'done' ? Math.max(1, total ?? 1) : done}" aria-label="Records that were processed"></progress>
${stop}
<dl class="facts">
<dt>selection</dt><dd>${filter.join(', ')}${again && ', also what was redriven or dismissed before'}</dd>
${reason !== null && html`<dt>reason</dt><dd>${reason}</dd>`}
<dt>started</dt><dd>${time(job.startedAt)} by ${by}</dd>
${job.endedAt !== null && html`<dt>ended</dt><dd>${time(job.endedAt)}</dd>`}
</dl>
${job.notes.map((note) => html`<p>${note}</p>`)}
${
  job.summary.length > 0 &&
  html`<h3>Outcomes</h3>${table(
    'Outcomes by kind',
    [
      { title: 'Records', cell: ({ records }) => records, isNumber: true },
      { title: 'Outcome', cell: ({ outcome }) => outcome },
      { title: 'Where', cell: ({ where }) => where, isLong: true },
      { title: 'Why', cell: ({ why }) => why, isLong: true },
      { title: 'Which', cell: ({ which }) => which },
    ],
    job.summary,
  )}`
}
${
  job.failures.length > 0 &&
  html`<h3>Records that stay</h3>${table(
    'Records that are not as was asked for',
    [
      { title: 'Record', cell: ({ at }) => html`<a href="${address('/dead-letters', at)}">${at}</a>` },
      { title: 'Outcome', cell: ({ outcome }) => outcomeText(outcome, isDry) },
      { title: 'Why', cell: ({ message, code }) => message ?? code, isLong: true },
    ],
    job.failures,
  )}${
    job.moreFailures > 0 &&
    html`<p class="quiet">${job.failures.length} of ${job.failures.length + job.moreFailures} are shown.</p>`
  }`
}
</section>`;
}

export const titleOf = (kind: Job['kind'], isDry: boolean): string =>
  `${isDry ? 'Dry run: ' : ''}${kind === 'redrive' ? 'redrive' : 'dismiss'}`;
