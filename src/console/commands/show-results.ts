import type { CommandResult, ResultStatus } from '../../core/command.ts';
import { recordName } from '../../core/record.ts';
import { address, type Html, html, type Shown } from '../page/html.ts';
import { badge, duration, type Mood, table, time } from '../page/parts.ts';
import type { HeldResult } from '../results/held-results.ts';
import type { ReadFailure } from '../results/result-log.ts';

const MOODS: Readonly<Record<ResultStatus, Mood>> = {
  SUCCEEDED: 'good',
  REJECTED: 'bad',
  FAILED: 'bad',
  EXPIRED: 'note',
  DUPLICATE: 'quiet',
  DRIFT: 'note',
};

/** Its word and its mood; a status of a later version is shown as it is. */
const statusOf = ({ status }: Pick<CommandResult, 'status'>): Html => badge(status, MOODS[status] ?? 'quiet');

/** What was read before may not be all. */
export const failureOf = (failure: ReadFailure | null): Shown =>
  failure !== null &&
  html`<p>${badge('not read now', 'bad')} The results of commands could not be read at ${time(failure.at)}, and later ones may be missing: ${failure.message}</p>`;

export const resultTable = (results: readonly CommandResult[]): Html =>
  table(
    'Results of commands, the latest first',
    [
      { title: 'finished', cell: ({ finishedAt }: CommandResult) => time(finishedAt) },
      {
        title: 'ref',
        cell: ({ ref }) =>
          ref
            ? html`<a href="${address('/commands', { ref })}">${ref}</a>`
            : html`<span class="quiet">–</span>`,
        isLong: true,
      },
      {
        title: 'command',
        cell: ({ type, commandId, status, dryRun }) =>
          html`<span class="text">${status === 'DRIFT' ? type : html`<a href="${address('/commands', commandId)}">${type}</a>`}${dryRun && html` <span class="quiet">dry run</span>`}</span>`,
        isLong: true,
      },
      { title: 'status', cell: statusOf },
      {
        title: 'message',
        cell: ({ errorCode, message }) =>
          html`<span class="text">${errorCode && html`<code>${errorCode}</code> `}${message}</span>`,
        isLong: true,
      },
      { title: 'by', cell: ({ issuedBy }) => issuedBy, isLong: true },
      {
        title: 'took',
        cell: ({ receivedAt, finishedAt }) => duration((finishedAt - receivedAt) / 1_000),
        isNumber: true,
      },
    ],
    results,
    'No result is known.',
  );

/** One result: what happened, largest; then its fields and the first entries of its lists. */
export function resultFacts(result: HeldResult): Html {
  const { status, message, errorCode, type, ref, subscriptionId, httpStatus, attempts, issuedBy, dryRun } =
    result;
  const facts: readonly (readonly [string, Shown])[] = [
    ['command', html`${type}${dryRun && ' (dry run: nothing was changed)'}`],
    ['ref', ref && html`<code>${ref}</code>`],
    ['subscription', subscriptionId && html`<code>${subscriptionId}</code>`],
    ['error code', errorCode && html`<code>${errorCode}</code>`],
    ['provider answered', httpStatus],
    ['requests to the provider', attempts],
    ['sent by', issuedBy],
    ['taken up', time(result.receivedAt)],
    ['record', html`<code>${recordName(recordOf(result))}</code>`],
  ];
  const given = facts.filter(([, value]) => value !== null && value !== '');
  return html`<p class="verdict ${MOODS[status] ?? 'quiet'}"><strong>${status}</strong> ${message}</p>
<dl class="facts">${given.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>
${listOf('Subscriptions at the provider', result.subscriptions, result.moreSubscriptions)}${listOf('Drift', result.drift, result.moreDrift)}`;
}

const recordOf = ({ commandTopic, commandPartition, commandOffset }: HeldResult) => ({
  topic: commandTopic,
  partition: commandPartition,
  offset: commandOffset,
});

function listOf(title: string, rows: readonly object[] | null, more: number): Shown {
  if (!rows || rows.length + more === 0) return null;
  const columns = Object.keys(rows[0] ?? {}).map((name) => ({
    title: name,
    cell: (row: object) => {
      const value = (row as Record<string, unknown>)[name];
      return Array.isArray(value) ? value.join(', ') : value === null ? '' : String(value);
    },
  }));
  return html`<h2>${title}</h2>${rows.length > 0 && table(title, columns, rows)}
${more > 0 && html`<p class="quiet">${rows.length} of ${rows.length + more} are shown. The record in the topic has all.</p>`}`;
}
