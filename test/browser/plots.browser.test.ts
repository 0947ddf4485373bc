import type { AddressInfo } from 'node:net';
import type { BrowserContextOptions, Page as BrowserPage } from 'playwright-core';
import { expect, it } from 'vitest';
import { html } from '../../src/console/page/html.ts';
import { definePage } from '../../src/console/page/page.ts';
import { plot } from '../../src/console/page/parts.ts';
import { as, HEADER_MODE, openConsoleApp } from '../support/console-app.ts';
import { until } from '../support/until.ts';
import { launchChromium } from './console-in-browser.ts';

/** A canvas does not tell what was drawn on it. */
const NOTE_TEXTS = `
  window.texts = [];
  const { fillText } = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.fillText = function (...args) {
    texts.push(args[0]);
    fillText.apply(this, args);
  };`;
const END = Date.parse('2026-11-28T10:00:00Z') / 1_000;
const PAGE = definePage<object>({
  path: '/plotted',
  title: 'Plotted',
  navigation: 'Plotted',
  role: 'view',
  cli: () => 'hookline',
  data: async () => ({}),
  render: () =>
    html`${plot(
      'one',
      'One',
      'per second',
      [
        { name: 'x', tone: 'good' },
        { name: 'y', tone: 'bad' },
      ],
      [
        [END - 60, END],
        [1, 2],
        [2, 1],
      ],
    )}`,
});

/** A page of a browser that may see the plot. */
async function inBrowser(options: BrowserContextOptions, look: (page: BrowserPage) => Promise<void>) {
  const { app } = await openConsoleApp(HEADER_MODE, { pages: [PAGE] });
  const browser = await launchChromium();
  try {
    await app.listen({ port: 0, host: '127.0.0.1' });
    const { port } = app.server.address() as AddressInfo;
    const baseURL = `http://127.0.0.1:${port}`;
    const extraHTTPHeaders = as('vera', 'oncall');
    await look(await browser.newPage({ baseURL, extraHTTPHeaders, ...options }));
  } finally {
    await browser.close();
    await app.close();
  }
}

it('a plot has the hours of UTC, as every other time of the console, wherever the browser is', async () => {
  await inBrowser({ timezoneId: 'America/New_York' }, async (page) => {
    await page.addInitScript(NOTE_TEXTS);
    await page.goto('/plotted');
    const drawn = () => page.evaluate<string[]>('texts');
    await until('it is drawn', async () => (await drawn()).some((text) => text.includes(':')));
    const times = (await drawn()).filter((text) => text.includes(':'));
    expect(times.filter((text) => !/^(09|10):/.test(text))).toEqual([]);
  });
});

it.each(['light', 'dark'] as const)(
  'lines can be told apart without colours, and where the reader has %s colours of their own',
  async (colorScheme) => {
    await inBrowser({ colorScheme, forcedColors: 'active' }, async (page) => {
      await page.goto('/plotted');
      await page.locator('.u-series').nth(2).waitFor();
      const markers = await page.evaluate<[string, string][]>(
        `[...document.querySelectorAll('.u-marker')].map((one) => getComputedStyle(one))
          .filter(({ borderTopWidth }) => borderTopWidth !== '0px')
          .map(({ borderTopColor, borderTopStyle }) => [borderTopColor, borderTopStyle])`,
      );
      const colours = markers.map(([colour]) => colour);
      expect([colours.length, new Set(colours).size]).toEqual([2, 2]);
      expect(markers.map(([, style]) => style)).toEqual(['solid', 'dashed']);
      // The navigation says where the reader is, by neither shadow nor colour.
      expect(
        await page.evaluate<string>(
          `getComputedStyle(document.querySelector('nav [aria-current]')).borderBottomWidth`,
        ),
      ).toBe('3px');
    });
  },
);
