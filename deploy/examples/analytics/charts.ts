/** Charts as SVG, made of text: they need no browser and no library. */

/** A row for each hour or agent, a count for each status. */
export type Series = {
  readonly statuses: readonly string[];
  readonly rows: readonly { readonly of: string; readonly counts: readonly number[] }[];
};

type Chart = { readonly title: string; readonly about: string; readonly series: Series };

type Shown = {
  readonly statuses: readonly { readonly status: string; readonly colour: number }[];
  readonly rows: Series['rows'];
};

const REJECTED = 'RJCT';
/** Indexes of colours: the first ones are for the statuses that come most. */
const OWN_COLOURS = 3;
const RED = 3;
const OTHERS = 4;

const WIDTH = 760;
const MARGIN = { left: 64, right: 24, top: 76, bottom: 52 };
const PLOT_WIDTH = WIDTH - MARGIN.left - MARGIN.right;

type Theme = { card: string; text: string; quiet: string; line: string; statuses: readonly string[] };

/** The colours of statuses differ in lightness too: they can be told apart without seeing hues. */
const LIGHT: Theme = {
  card: '#ffffff',
  text: '#1f2328',
  quiet: '#59636e',
  line: '#d8dee4',
  statuses: ['#2a5d8f', '#6fb1c9', '#e3a93c', '#b8322a', '#8a8f98'],
};
const DARK: Theme = {
  card: '#161b22',
  text: '#e6edf3',
  quiet: '#9aa4af',
  line: '#30363d',
  statuses: ['#4d8fcc', '#a5d8e6', '#d99a2b', '#f0685c', '#767d87'],
};

const rulesOf = ({ card, text, quiet, line, statuses }: Theme) =>
  [
    `text{fill:${text}}`,
    `.quiet{fill:${quiet}}`,
    `.card{fill:${card};stroke:${line}}`,
    `.grid{stroke:${line}}`,
    ...statuses.map((colour, n) => `.s${n}{fill:${colour}}`),
  ].join('');

/** A chart brings its own background, light or dark as the reader prefers, so that its text is readable on any page. */
const STYLE = `
text{font:12px system-ui,"Segoe UI","DejaVu Sans",sans-serif}.title{font-size:15px;font-weight:600}
.end{text-anchor:end}.middle{text-anchor:middle}
${rulesOf(LIGHT)}
@media(prefers-color-scheme:dark){${rulesOf(DARK)}}`;

/** Columns in the order of the rows, one above the other by status. */
export function columnChart({ title, about, series }: Chart): string {
  const { statuses, rows } = withOthers(series);
  const height = 220;
  const { max, step } = scaleOf(Math.max(...rows.map(({ counts }) => sum(counts))));
  const slot = PLOT_WIDTH / Math.max(rows.length, 1);
  const yOf = (count: number) => MARGIN.top + height - (count / max) * height;
  const grid = range(0, max, step).map((count) => gridLine(yOf(count), count));
  const labelEvery = Math.ceil(rows.length / 8);
  const columns = rows.flatMap(({ of, counts }, n) => {
    const x = MARGIN.left + n * slot;
    const boxes = stack(counts).map(([from, to], status) =>
      box(statuses[status]?.colour, {
        x: x + slot * 0.1,
        y: yOf(to),
        width: slot * 0.8,
        height: yOf(from) - yOf(to),
      }),
    );
    const [day = '', hour = ''] = of.split(' ');
    const isLabelled = n % labelEvery === 0;
    const label = isLabelled
      ? [
          text(x + slot / 2, MARGIN.top + height + 18, hour || day, 'quiet middle'),
          hour && text(x + slot / 2, MARGIN.top + height + 34, day, 'quiet middle'),
        ]
      : [];
    return [...boxes, ...label];
  });
  return document({ title, about, height: MARGIN.top + height + MARGIN.bottom }, [
    ...legend(statuses),
    ...grid,
    ...columns,
  ]);
}

/** Bars, the longest first, with the share of rejected ones in words at the end. */
export function barChart({ title, about, series }: Chart): string {
  const { statuses, rows } = withOthers(series);
  const sorted = rows.toSorted((a, b) => sum(b.counts) - sum(a.counts) || a.of.localeCompare(b.of));
  const left = 120;
  const right = 150;
  const { max } = scaleOf(Math.max(...rows.map(({ counts }) => sum(counts))));
  const xOf = (count: number) => left + (count / max) * (WIDTH - left - right);
  const slot = 32;
  const rejected = statuses.findIndex(({ status }) => status === REJECTED);
  const bars = sorted.flatMap(({ of, counts }, n) => {
    const y = MARGIN.top + n * slot;
    const all = sum(counts);
    const boxes = stack(counts).map(([from, to], status) =>
      box(statuses[status]?.colour, { x: xOf(from), y, width: xOf(to) - xOf(from), height: slot * 0.7 }),
    );
    const percent = (((counts[rejected] ?? 0) / all) * 100).toFixed(1);
    const ending = rejected < 0 ? amount(all) : `${amount(all)}, ${percent} % ${REJECTED}`;
    return [
      text(left - 10, y + slot * 0.45, of, 'end'),
      ...boxes,
      text(xOf(all) + 8, y + slot * 0.45, ending, 'quiet'),
    ];
  });
  return document({ title, about, height: MARGIN.top + rows.length * slot + 20 }, [
    ...legend(statuses),
    ...bars,
  ]);
}

function document(
  { title, about, height }: { title: string; about: string; height: number },
  parts: readonly string[],
): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-labelledby="title about">
<title id="title">${escaped(title)}</title>
<desc id="about">${escaped(about)}</desc>
<style>${STYLE}
</style>
<rect class="card" x="0.5" y="0.5" width="${WIDTH - 1}" height="${height - 1}" rx="8"/>
${text(20, 28, title, 'title')}
${parts.filter(Boolean).join('\n')}
</svg>
`;
}

function legend(statuses: Shown['statuses']): string[] {
  return statuses.flatMap(({ status, colour }, n) => {
    const x = 20 + n * 84;
    return [box(colour, { x, y: 42, width: 12, height: 12 }), text(x + 18, 52, status)];
  });
}

const gridLine = (y: number, count: number) =>
  `<path class="grid" d="M${MARGIN.left} ${fixed(y)}H${WIDTH - MARGIN.right}"/>${text(MARGIN.left - 8, y + 4, amount(count), 'quiet end')}`;

function box(
  colour: number | undefined,
  place: { x: number; y: number; width: number; height: number },
): string {
  if (place.width <= 0 || place.height <= 0) return '';
  const attributes = Object.entries(place).map(([name, value]) => `${name}="${fixed(value)}"`);
  return `<rect class="s${colour}" ${attributes.join(' ')}/>`;
}

const text = (x: number, y: number, words: string, kind?: string) =>
  `<text${kind ? ` class="${kind}"` : ''} x="${fixed(x)}" y="${fixed(y)}">${escaped(words)}</text>`;

/** Statuses and agents are from messages: they can hold anything. What XML 1.0 cannot hold at all is left out. */
const escaped = (words: string) =>
  words
    .toWellFormed()
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these characters are what it leaves out
    .replaceAll(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');

/** Hundredths, so that the same data give the same file. */
const fixed = (value: number) => String(Math.round(value * 100) / 100);
const amount = (count: number) => count.toLocaleString('en-US');
const sum = (counts: readonly number[]) => counts.reduce((all, count) => all + count, 0);
const range = (from: number, to: number, step: number) =>
  Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, n) => from + n * step);

/** From where to where each count goes, one after the other. */
function stack(counts: readonly number[]): [number, number][] {
  let end = 0;
  return counts.map((count) => {
    const from = end;
    end += count;
    return [from, end];
  });
}

/** Steps of 1, 2 or 5 times a power of ten, four to ten of them. */
function scaleOf(largest: number): { max: number; step: number } {
  const rough = Math.max(largest, 1) / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(1, ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10) * power);
  return { max: Math.ceil(Math.max(largest, 1) / step) * step, step };
}

/**
 * At most five statuses: the three that come most, all others together, and rejected ones last, always in the same colour.
 * Hours and agents keep their order.
 */
function withOthers({ statuses, rows }: Series): Shown {
  const places = statuses.map((status, n) => ({ status, from: [n] }));
  const rejected = places.filter(({ status }) => status === REJECTED);
  const others = places.filter(({ status }) => status !== REJECTED).slice(OWN_COLOURS);
  const own = places.filter(({ status }) => status !== REJECTED).slice(0, OWN_COLOURS);
  const shown = [
    ...own.map((place, n) => ({ ...place, colour: n })),
    ...(others.length === 0
      ? []
      : [{ status: 'others', from: others.flatMap(({ from }) => from), colour: OTHERS }]),
    ...rejected.map((place) => ({ ...place, colour: RED })),
  ];
  const countsOf = (counts: readonly number[]) =>
    shown.map(({ from }) => sum(from.map((n) => counts[n] ?? 0)));
  return { statuses: shown, rows: rows.map(({ of, counts }) => ({ of, counts: countsOf(counts) })) };
}
