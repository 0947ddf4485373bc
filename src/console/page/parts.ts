import { isoOf } from '../../core/instant.ts';
import { type Html, html, type Shown } from './html.ts';
import type { PlotData } from './page.ts';

/** Parts that several pages show. */

export type Column<Row> = {
  readonly title: string;
  readonly cell: (row: Row) => Shown;
  /** Numbers are aligned at their end. */
  readonly isNumber?: boolean;
  /** Text of any length, with or without blanks: it breaks anywhere, so that the table does not become wider than the page. */
  readonly isLong?: boolean;
};

/** A table that becomes a list of cards on a narrow screen; its caption is for screen readers too. */
export function table<Row>(
  caption: string,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  ifEmpty = 'None.',
): Html {
  if (rows.length === 0) return html`<p class="quiet">${ifEmpty}</p>`;
  const heads = columns.map(
    ({ title, isNumber }) => html`<th scope="col"${isNumber && html` class="number"`}>${title}</th>`,
  );
  const cellsOf = (row: Row) =>
    columns.map(
      ({ title, cell, isNumber, isLong }) =>
        html`<td data-title="${title}"${isNumber ? html` class="number"` : isLong && html` class="long"`}>${cell(row)}</td>`,
    );
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${caption}"><table>
<caption>${caption}</caption>
<thead><tr>${heads}</tr></thead>
<tbody>${rows.map((row) => html`<tr>${cellsOf(row)}</tr>\n`)}</tbody>
</table></div>`;
}

export type Mood = 'good' | 'note' | 'bad' | 'quiet';

/** A word with a mood: the colour never says it alone. */
export const badge = (word: string, mood: Mood): Html => html`<span class="badge ${mood}">${word}</span>`;

/** A figure with its name, the number large. */
export const figure = (name: string, value: Shown, detail?: Shown, mood?: Mood): Html =>
  html`<div class="figure${mood && ` ${mood}`}"><dt>${name}</dt><dd>${value}${detail !== undefined && html` <small>${detail}</small>`}</dd></div>`;

export type Series = { readonly name: string; readonly tone: 'good' | 'note' | 'bad' | 'one' | 'two' };

/** A plot over time. Its numbers stand in the page as text elsewhere: it is a picture of them. */
export const plot = (
  id: string,
  title: string,
  unit: string,
  series: readonly Series[],
  data: PlotData,
): Html =>
  html`<figure class="plot"><figcaption>${title} <small>${unit}</small></figcaption>
<div id="${id}" role="img" aria-label="${title}, ${unit}, over the last hour" data-plot="${JSON.stringify({ unit, series, data })}"></div></figure>`;

/** A time as a person reads it, exact for machines. Milliseconds since 1970. */
export function time(ms: number): Html {
  const iso = isoOf(ms);
  if (Number.isNaN(Date.parse(iso))) return html`no time`;
  return html`<time datetime="${iso}">${iso.slice(0, 19).replace('T', ' ')}Z</time>`;
}

/** `counted(1, 'event', 'events')`: 1 event. */
export const counted = (count: number, one: string, many: string): string =>
  `${count} ${count === 1 ? one : many}`;

/** How long something took or lies back. */
export function duration(seconds: number): string {
  if (seconds < 0.001) return '0 ms';
  if (seconds < 1) return `${Math.round(seconds * 1_000)} ms`;
  if (seconds < 120) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.round(seconds / 3_600)} h` : `${Math.round(seconds / 86_400)} d`;
}

const BYTES = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

export function bytes(count: number): string {
  const power = count < 1 ? 0 : Math.min(Math.floor(Math.log2(count) / 10), BYTES.length - 1);
  const value = count / 1024 ** power;
  return `${value < 10 && power > 0 ? value.toFixed(1) : Math.round(value)} ${BYTES[power]}`;
}

/** At most so many digits as are worth reading. */
export const rate = (perSecond: number): string =>
  perSecond === 0
    ? '0'
    : perSecond >= 100
      ? String(Math.round(perSecond))
      : perSecond >= 10
        ? perSecond.toFixed(1)
        : perSecond.toFixed(2);
