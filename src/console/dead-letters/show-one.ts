import type { causeOf, describeDeadLetter } from '../../dead-letters/describe-dead-letter.ts';
import { address, type Html, html } from '../page/html.ts';
import type { PageRequest } from '../page/page.ts';
import { bytes, time } from '../page/parts.ts';
import { actionsOf, selectedSection, stateBadge } from './show-list.ts';

export type OneDeadLetter = ReturnType<typeof describeDeadLetter> &
  ReturnType<typeof causeOf> & {
    readonly key: string | null;
    readonly headers: Readonly<Record<string, string>>;
  };

/** One record: why it is here, and what may be done about it. Its body is shown by `hookline dlq show --reveal` alone. */
export function onePageOf(deadLetter: OneDeadLetter, request: PageRequest): Html {
  const { at, stage, code, ref, eventId, cause, remedy, parts, redriven, dismissed } = deadLetter;
  return html`<p><a href="${address('/dead-letters')}">Dead-letter records</a>, record ${at}</p>
<h2>${stateBadge(deadLetter.state)} ${stage} ${code}</h2>
<dl class="facts">
<dt>cause</dt><dd>${cause}</dd>
<dt>remedy</dt><dd>${remedy}</dd>
<dt>written</dt><dd>${time(Date.parse(deadLetter.time))}</dd>
${ref !== null && html`<dt>ref</dt><dd><a href="${address('/find', { q: ref })}">${ref}</a></dd>`}
${eventId !== null && html`<dt>event id</dt><dd><a href="${address('/find', { q: eventId })}">${eventId}</a></dd>`}
<dt>size</dt><dd>${bytes(deadLetter.bytes)}${parts > 1 && ` in ${parts} parts`}</dd>
${redriven && html`<dt>redriven</dt><dd>${time(Date.parse(redriven.at))} to ${redriven.to}</dd>`}
${dismissed && html`<dt>dismissed</dt><dd>${time(Date.parse(dismissed.at))} by ${dismissed.by}: ${dismissed.reason}</dd>`}
</dl>
${['open', 'incomplete'].includes(deadLetter.state) && actionsOf({ at }, selectedSection('1', { conditions: { at }, latest: null }), request)}
<details><summary>Headers</summary><dl class="facts">${Object.entries(deadLetter.headers).map(
    ([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`,
  )}</dl></details>
<p class="quiet">The body is not shown here; <code>hookline dlq show ${at} --reveal</code> shows it.</p>`;
}
