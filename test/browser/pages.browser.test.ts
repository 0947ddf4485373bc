import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { AxeBuilder } from '@axe-core/playwright';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { BY_HEADER, ConsoleInBrowser, SCRIPT, show, type View } from './console-in-browser.ts';

/** Set by `make console-pictures` alone: tests write nothing. */
const PICTURES = process.env.CONSOLE_PICTURES;
/** `all`: every page in every view, to look at; else those of the documentation. */
const PICTURED = process.env.CONSOLE_PICTURED;

const DOCUMENTED = [
  'overview',
  'find',
  'events-of-a-topic',
  'dead-letters',
  'subscriptions',
  'commands',
  'schemas',
];

const isPictured = (name: string, { width, scheme }: View) =>
  PICTURED === 'all' ||
  (DOCUMENTED.includes(name) && width === 1_280 && scheme === 'light') ||
  (name === 'overview' && width !== 1_280 && scheme === 'dark');

let the: ConsoleInBrowser;
let seeded: { eventId: string; commandId: string };
let letter: string;

beforeAll(async () => {
  const stack = inject('stack');
  the = await ConsoleInBrowser.open(stack, BY_HEADER);
  seeded = await the.seed(PICTURES ? 'e2e-1042' : SCRIPT);
  const dead = (await the.control.fixture.read('dead-letter', 1))[0];
  letter = `${dead?.partition}:${dead?.offset}`;
});

afterAll(() => the?.[Symbol.asyncDispose]());

const PAGES: readonly (readonly [name: string, path: () => string])[] = [
  ['overview', () => '/'],
  ['find', () => `/find?q=${seeded.eventId}`],
  ['events', () => '/events'],
  ['events-of-a-topic', () => `/events/${the.control.fixture.topic('payment-status')}`],
  ['dead-letters', () => '/dead-letters'],
  ['dead-letter', () => `/dead-letters/${letter}`],
  ['subscriptions', () => '/subscriptions'],
  ['commands', () => '/commands'],
  ['command', () => `/commands/${seeded.commandId}`],
  ['schemas', () => '/schemas'],
];

const VIEWS: readonly View[] = [
  ...[360, 1_280, 2_560].flatMap((width) =>
    (['light', 'dark'] as const).map((scheme) => ({ width, scheme })),
  ),
  // A tablet.
  { width: 768, scheme: 'light' },
];

/** How far a page is wider than its window. */
const overflow = (page: Page) =>
  page.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth');

/** Cells of more than one element or text: on a narrow screen a cell is a grid of its title and one item. */
const brokenCells = (page: Page) =>
  page.evaluate<string[]>(`[...document.querySelectorAll('td')]
    .filter((cell) => [...cell.childNodes].filter((node) => node.textContent.trim() !== '').length > 1)
    .map((cell) => cell.outerHTML.slice(0, 300))`);

/** Times of tables that take more than one line, tables that do not fit, and titles of cells that have nothing. */
const unreadable = (page: Page) =>
  page.evaluate<string[]>(`[
    ...[...document.querySelectorAll('td time')].filter((time) => time.getClientRects().length > 1),
    ...[...document.querySelectorAll('.scroll')].filter((table) => table.scrollWidth > table.clientWidth),
    ...[...document.querySelectorAll('td:empty')].filter((cell) => getComputedStyle(cell).display === 'grid'),
  ].map((element) => element.outerHTML.slice(0, 300))`);

describe.each(VIEWS)('at $width px, $scheme', (view) => {
  it.each(PAGES)('%s can be used by everyone, and fits', async (name, path) => {
    const page = await the.page(view, { user: `${view.scheme}-${view.width}` });
    await show(page, path());
    if (name === 'overview') await page.locator('.live-state', { hasText: 'live' }).waitFor();
    const { violations } = await new AxeBuilder({ page }).analyze();
    expect(
      violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`),
    ).toEqual([]);
    expect(await overflow(page)).toBe(0);
    expect(await brokenCells(page)).toEqual([]);
    expect(await unreadable(page)).toEqual([]);
    expect(await page.evaluate<number>('window.attacked ?? 0')).toBe(0);
    expect(await page.locator('main script, main img').count()).toBe(0);
    if (PICTURES && isPictured(name, view)) {
      mkdirSync(PICTURES, { recursive: true });
      await page.screenshot({
        path: join(PICTURES, `console-${name}-${view.width}-${view.scheme}.png`),
        // A topic's page is as long as its records.
        fullPage: name !== 'events-of-a-topic',
      });
    }
    await page.context().close();
    expect(the.faults).toEqual([]);
  });
});

it('is readable without its script', async () => {
  for (const [, path] of PAGES) {
    const page = await the.page({ width: 1_280, scheme: 'light' }, { script: false, user: 'without-script' });
    const answer = await page.goto(path(), { waitUntil: 'load' });
    expect(answer?.status()).toBe(200);
    const text = await page.locator('main').innerText();
    expect(text.length).toBeGreaterThan(40);
    // Nothing changes on it.
    expect(text).not.toMatch(/appears? (above|here)/);
    await page.context().close();
  }
});

/** The page itself and what it has loaded, without the stream of its updates, which has not ended. */
const LOADED = `[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
  .map(({ name, decodedBodySize }) => [new URL(name).pathname, decodedBodySize])`;

it('loads less than 200 kB a page', async () => {
  for (const [name, path] of PAGES) {
    const page = await the.page({ width: 1_280, scheme: 'light' }, { user: 'weighs' });
    await page.goto(path(), { waitUntil: 'load' });
    if (name === 'overview') await page.locator('.u-wrap').first().waitFor();
    const loaded = await page.evaluate<[string, number][]>(LOADED);
    expect(
      loaded.some(([file]) => file === '/assets/uPlot.iife.min.js'),
      name,
    ).toBe(name === 'overview');
    const bytes = loaded.reduce((sum, [, size]) => sum + size, 0);
    expect(bytes, name).toBeGreaterThan(name === 'overview' ? 60_000 : 15_000);
    expect(bytes, name).toBeLessThan(200_000);
    await page.context().close();
  }
});
