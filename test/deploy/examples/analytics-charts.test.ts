import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { barChart, columnChart, type Series } from '../../../deploy/examples/analytics/charts.ts';
import { demoCharts } from '../../../deploy/examples/analytics/render-charts.ts';
import { readFile } from '../../support/generated/files.ts';
import { ROOT } from '../../support/source-tree.ts';

const IMAGES = 'docs/images';
const words = { title: 'A title', about: 'What it shows.' };
const textsOf = (svg: string) => [...svg.matchAll(/<text[^>]*>([^<]*)<\/text>/g)].map(([, text]) => text);
/** Boxes of the plot by the class of their colour, with their places. */
const boxesOf = (svg: string) =>
  [...svg.matchAll(/<rect class="(s\d)" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"/g)]
    .map(([, colour, ...places]) => [colour, ...places.map(Number)] as const)
    .filter(([, , y]) => y !== 42);

describe('the charts', () => {
  let charts: Record<string, string>;
  beforeAll(async () => {
    charts = await demoCharts();
  }, 180_000);

  it('of the documentation are as the code draws them (make charts)', () => {
    const drawn = readdirSync(join(ROOT, IMAGES)).filter((name) => name.startsWith('analytics-'));
    expect(drawn.sort()).toEqual(Object.keys(charts).sort());
    for (const [name, svg] of Object.entries(charts)) expect(readFile(`${IMAGES}/${name}`), name).toBe(svg);
  });

  it('are readable on light and dark pages: each has a background, and text, of its own for both', () => {
    for (const svg of Object.values(charts)) {
      const [light = '', dark = ''] = svg.split('@media(prefers-color-scheme:dark)');
      for (const rules of [light, dark]) expect(rules).toMatch(/text\{fill:#\w{6}\}.*\.card\{fill:#\w{6};/s);
      expect(svg.length).toBeLessThan(40_000);
    }
  });

  it('have columns as high as their counts, one above the other', () => {
    const series = { statuses: ['A', 'RJCT'], rows: [{ of: '2026-01-05 10:00', counts: [150, 50] }] };
    const svg = columnChart({ ...words, series });
    // 220 pixels are 200.
    expect(boxesOf(svg).map(([colour, , y, , height]) => [colour, y, height])).toEqual([
      ['s0', 131, 165],
      ['s3', 76, 55],
    ]);
    expect(textsOf(svg)).toEqual(
      expect.arrayContaining(['A', 'RJCT', '10:00', '2026-01-05', '0', '100', '200']),
    );
  });

  it('have bars as long as their counts, the longest first, with the share of rejected ones', () => {
    const rows = [
      { of: 'SHORT', counts: [40, 10] },
      { of: 'LONG', counts: [100, 0] },
    ];
    const svg = barChart({ ...words, series: { statuses: ['A', 'RJCT'], rows } });
    // 490 pixels are 100.
    expect(boxesOf(svg).map(([colour, x, , width]) => [colour, x, width])).toEqual([
      ['s0', 120, 490],
      ['s0', 120, 196],
      ['s3', 316, 49],
    ]);
    expect(textsOf(svg).slice(3)).toEqual(['LONG', '100, 0.0 % RJCT', 'SHORT', '50, 20.0 % RJCT']);
  });

  it('have a colour for the three statuses that come most and for rejected ones; the others share one', () => {
    const series = {
      statuses: ['A', 'B', 'RJCT', 'C', 'D', 'E'],
      rows: [{ of: 'x', counts: [9, 8, 7, 6, 5, 4] }],
    };
    const svg = barChart({ ...words, series });
    expect(textsOf(svg).slice(1, 6)).toEqual(['A', 'B', 'C', 'others', 'RJCT']);
    expect(boxesOf(svg).map(([colour]) => colour)).toEqual(['s0', 's1', 's2', 's4', 's3']);
    const [, , , others, rejected] = boxesOf(svg).map(([, , , width]) => width);
    expect(Number(others) / Number(rejected)).toBeCloseTo(9 / 7, 2);
  });

  it('show names from messages as text, whatever they hold', () => {
    const of = '"><script>alert(1)</script>&';
    const series: Series = { statuses: ['<b>'], rows: [{ of, counts: [1] }] };
    for (const svg of [barChart({ ...words, series }), columnChart({ ...words, series })]) {
      expect(svg).not.toMatch(/<script|<b>/);
      expect(svg).toContain('&lt;b&gt;');
    }
  });

  it('leave out of names what XML cannot hold: one character would make the whole chart unreadable', () => {
    const series: Series = {
      statuses: ['A\u0001'],
      rows: [{ of: 'x\u0000\u001b\ufffe\ud800y 10:00', counts: [1] }],
    };
    for (const svg of [barChart({ ...words, series }), columnChart({ ...words, series })]) {
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these characters are what must not be there
      expect(svg).not.toMatch(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/);
      expect(svg.isWellFormed()).toBe(true);
      expect(textsOf(svg)).toContain('A');
    }
    expect(textsOf(barChart({ ...words, series }))).toContain('x\ufffdy 10:00');
  });

  it('are drawn of nothing, too', () => {
    const series = { statuses: [], rows: [] };
    for (const svg of [barChart({ ...words, series }), columnChart({ ...words, series })])
      expect(svg).not.toMatch(/NaN|Infinity|undefined/);
  });
});
