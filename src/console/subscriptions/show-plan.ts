import type { Applied } from '../../cli/subscriptions/apply-plan.ts';
import { type Plan, refsDeleted } from '../../cli/subscriptions/plan.ts';
import { showPlan } from '../../cli/subscriptions/show-plan.ts';
import { address, formValue, type Html, html, type Shown } from '../page/html.ts';
import type { PageRequest } from '../page/page.ts';
import { badge, table } from '../page/parts.ts';

export type Planned = {
  readonly plan: Plan;
  /** Of the plan that somebody has seen: another one is not applied in its place. */
  readonly seen: string;
  readonly text: string;
  readonly refresh: boolean;
};

export type ApplyResult = { readonly plan: Plan; readonly results: readonly Applied[] };

/** The plan's lines as the CLI prints them, what is added, changed and removed apart; and beside them the file that it is made of. */
export function showPlanned({ plan, text, seen, refresh }: Planned, request: PageRequest): Html {
  const lines = showPlan(plan, 'the file');
  const deleted = refsDeleted(plan);
  const apply =
    plan.changes.length > 0 &&
    html`<form method="post" action="/subscriptions/apply">
${request.csrfField}
<input type="hidden" name="file" value="${formValue(text)}"><input type="hidden" name="seen" value="${seen}"><input type="hidden" name="noRefresh" value="${String(!refresh)}">
${deleted.length > 0 && html`<p><label class="check"><input type="checkbox" name="delete" value="true"> Also delete ${deleted.join(', ')}</label></p>`}
<p class="buttons"><button${deleted.length > 0 && html` class="danger"`}>Apply this plan</button></p>
</form>`;
  return html`<p class="verdict ${plan.changes.length > 0 ? 'note' : 'good'}">${lines.at(-1)}</p>
<div class="beside">
<section><h2>What it would change</h2><pre class="diff" tabindex="0">${lines.slice(0, -1).map(lineOf)}</pre>${apply}</section>
<section><h2>The file</h2><pre tabindex="0">${text}</pre></section>
</div>
<p><a href="/subscriptions">Back to the subscriptions</a></p>`;
}

const MARKS: Readonly<Record<string, string>> = { '+': 'add', '-': 'remove', '~': 'change', '!': 'change' };

function lineOf(line: string): Shown {
  const mark = MARKS[line.trimStart().charAt(0)];
  return mark && line.startsWith(' ') ? html`<span class="${mark}">${line}</span>\n` : `${line}\n`;
}

export function showApplied({ plan, results }: ApplyResult): Html {
  const failed = results.filter(({ status }) => status !== 'SUCCEEDED').length;
  const sentence =
    results.length === 0
      ? `Nothing to do: ${plan.unchanged.length} are already as in the file.`
      : `${results.length - failed} succeeded, ${failed} did not.`;
  return html`<p class="verdict ${failed > 0 ? 'bad' : 'good'}">${sentence}</p>
${table(
  'Results of the commands',
  [
    { title: 'ref', cell: ({ ref }: Applied) => html`<code>${ref}</code>` },
    {
      title: 'command',
      cell: ({ type, commandId }) => html`<a href="${address('/commands', commandId)}">${type}</a>`,
    },
    {
      title: 'status',
      cell: ({ status }) => badge(status ?? 'no result yet', status === 'SUCCEEDED' ? 'good' : 'bad'),
    },
    {
      title: 'message',
      cell: ({ errorCode, message }) =>
        html`<span class="text">${errorCode && html`<code>${errorCode}</code> `}${message}</span>`,
      isLong: true,
    },
  ],
  results,
  'No command was sent.',
)}
<p><a href="/subscriptions">Back to the subscriptions</a></p>`;
}
