import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AxeBuilder } from '@axe-core/playwright';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { html } from '../../src/console/page/html.ts';
import { defineChange, definePage, type LiveUpdate, untilGone } from '../../src/console/page/page.ts';
import { table } from '../../src/console/page/parts.ts';
import { as, HEADER_MODE, openConsoleApp } from '../support/console-app.ts';
import { launchChromium } from './console-in-browser.ts';

const pageOf = (path: `/${string}`, live: (signal: AbortSignal) => AsyncIterable<LiveUpdate>) =>
  definePage<object>({
    path,
    title: path,
    role: 'view',
    cli: () => 'hookline',
    data: async () => ({}),
    render: () => html`<p id="shown">as loaded</p><label for="reason">Reason</label><input id="reason">`,
    live: ({ signal }) => live(signal),
  });

let opened = 0;
const PAGES: ReturnType<typeof definePage>[] = [
  // As a page of records does while no broker answers: first the request is answered, then the reader fails.
  pageOf('/failing', async function* (signal) {
    await new Promise((resolve) => setTimeout(resolve, 500));
    if (!signal.aborted) throw new Error('no broker answers');
  }),
  pageOf('/quiet', async function* (signal) {
    opened++;
    yield { id: 'shown', html: html`<p id="shown">update ${opened}</p>` };
    await untilGone(signal);
  }),
  pageOf('/links', async function* (signal) {
    const links = (before: string, words: string) =>
      html`<p id="shown">${before && html`<a href="/failing">${before}</a> `}<a href="/quiet">another one</a> <a href="/quiet">${words}</a></p>`;
    yield { id: 'shown', html: links('', 'a record') };
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    yield { id: 'shown', html: links('a later one', 'the same record') };
    await untilGone(signal);
  }),
  pageOf('/parts', async function* (signal) {
    const parts = (words: string) =>
      html`<div id="shown"><details id="more"><summary>More</summary></details><button>Search</button>
${table('Records', [{ title: 'Which', cell: () => words.repeat(100), isNumber: true }], [{}])}</div>`;
    yield { id: 'shown', html: parts('before ') };
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    yield { id: 'shown', html: parts('after ') };
    await untilGone(signal);
  }),
];

let sent = 0;
PAGES.push(
  definePage<object>({
    path: '/sending',
    title: 'Sending',
    role: 'view',
    cli: () => 'hookline',
    data: async () => ({}),
    render: (_, { csrfField }) =>
      html`<form method="post" action="/sending">${csrfField}<button>Send</button></form>`,
    changes: [
      defineChange<object, object>({
        path: '/sending',
        title: 'Sent',
        role: 'view',
        fields: [],
        read: () => ({}),
        audited: () => null,
        async make() {
          sent++;
          await new Promise((resolve) => setTimeout(resolve, 1_000));
          return {};
        },
        show: () => html`<p>It was sent.</p>`,
      }),
    ],
  }),
);

let browser: Browser;
let the: Awaited<ReturnType<typeof openConsoleApp>>;
let page: Page;
let port = 0;

async function openApp(): Promise<void> {
  the = await openConsoleApp(HEADER_MODE, { pages: PAGES });
  await the.app.listen({ port, host: '127.0.0.1' });
  port = (the.app.server.address() as AddressInfo).port;
}

beforeAll(async () => {
  browser = await launchChromium();
});
beforeEach(async () => {
  port = 0;
  await openApp();
  const context = await browser.newContext({
    baseURL: `http://127.0.0.1:${port}`,
    extraHTTPHeaders: as('vera', 'oncall'),
  });
  page = await context.newPage();
});
afterEach(async () => {
  await page.context().close();
  await the.app.close();
});
afterAll(() => browser?.close());

const state = () => page.locator('.live-state').innerText();

it('a page whose updates fail says why, and never that it is live', async () => {
  await page.goto('/failing');
  await page.locator('body.stale .live-state', { hasText: 'Out of date: no broker answers' }).waitFor();
  const said = new Set<string>();
  for (let n = 0; n < 80; n++) {
    said.add(await state());
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  expect([...said]).toEqual(['Out of date: no broker answers']);
  // What was known last is grey, and can be read.
  const { violations } = await new AxeBuilder({ page }).withRules('color-contrast').analyze();
  expect(violations.flatMap(({ nodes }) => nodes.map(({ failureSummary }) => failureSummary))).toEqual([]);
});

it('a page that gets no place says so and stays as it is, with what was typed into it', async () => {
  const others = new AbortController();
  // Of an answer that nobody holds the connection is closed.
  const answers: Response[] = [];
  for (let user = 0; user < 5; user++)
    for (let n = 0; n < 10; n++) {
      const headers = { accept: 'text/event-stream', ...as(`user-${user}`, 'oncall') };
      answers.push(await fetch(`http://127.0.0.1:${port}/quiet`, { headers, signal: others.signal }));
    }
  expect(answers.every(({ ok }) => ok)).toBe(true);
  await page.goto('/quiet');
  await page.getByLabel('Reason').fill('confirmed by phone');
  await page.locator('.live-state', { hasText: '50 readers have this page open already' }).waitFor();
  others.abort();
  await page.locator('.live-state', { hasText: /^live$/ }).waitFor({ timeout: 30_000 });
  expect(await page.getByLabel('Reason').inputValue()).toBe('confirmed by phone');
});

it('whoever goes through a page by keyboard stays where they are when it changes', async () => {
  await page.goto('/links');
  await page.getByText('a record').focus();
  await page.getByText('the same record').waitFor();
  expect(await page.locator(':focus').innerText()).toBe('the same record');
});

it.each(['summary', 'button', '[role=region]'])(
  'whoever is at its %s by keyboard stays there when a page changes, and a table stays where it was scrolled to',
  async (part) => {
    await page.goto('/parts');
    await page.getByText('before').waitFor();
    const there = page.locator('#shown').locator(part);
    await there.focus();
    await there.evaluate((element) => element.scrollTo(300, 0));
    const scrolled = await there.evaluate((element) => element.scrollLeft);
    expect(scrolled).toBe(part === '[role=region]' ? 300 : 0);
    await page.getByText('after').waitFor();
    expect(await there.evaluate((element) => [element.matches(':focus'), element.scrollLeft])).toEqual([
      true,
      scrolled,
    ]);
  },
);

it('an update does not read the words of the whole page, of which there may be many', async () => {
  await page.addInitScript(`
    const { get, set } = Object.getOwnPropertyDescriptor(Node.prototype, 'textContent');
    const counted = function () {
      if (this === document.body) document.title = 'read';
      return get.call(this);
    };
    Object.defineProperty(Node.prototype, 'textContent', { get: counted, set });`);
  await page.goto('/parts');
  await page.getByText('after').waitFor();
  expect(await page.title()).not.toBe('read');
});

it('a second click on what is being sent sends nothing more, and after the way back it can be sent again', async () => {
  await page.goto('/sending');
  const send = async () => {
    const at = await page.getByRole('button', { name: 'Send' }).boundingBox();
    const [x, y] = [(at?.x ?? 0) + 5, (at?.y ?? 0) + 5];
    await page.mouse.click(x, y);
    await new Promise((resolve) => setTimeout(resolve, 200));
    await page.mouse.click(x, y);
    await page.getByText('It was sent.').waitFor();
  };
  await page.waitForTimeout(500);
  await send();
  expect(sent).toBe(1);
  await page.goBack();
  await page.waitForTimeout(500);
  await send();
  expect(sent).toBe(2);
});

it('a text is copied, which the button says for a moment; where it cannot be, it says that', async () => {
  await page.goto('/quiet');
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  const copy = page.locator('.cli button');
  await copy.click();
  await expect.poll(() => copy.innerText()).toBe('Copied');
  expect(await page.evaluate<string>('navigator.clipboard.readText()')).toBe('hookline');
  await expect.poll(() => copy.innerText(), { timeout: 10_000 }).toBe('Copy');
  await page.evaluate(`navigator.clipboard.writeText = () => Promise.reject(new Error('not allowed'))`);
  await copy.click();
  await expect.poll(() => copy.innerText()).toBe('Not copied: select the text');
});

it('a page goes on when the console is back, whatever a proxy said meanwhile', async () => {
  await page.goto('/quiet');
  await page.locator('.live-state', { hasText: /^live$/ }).waitFor();
  await page.getByLabel('Reason').fill('confirmed by phone');
  await the.app.close();
  const proxy = createServer((_, response) => response.writeHead(502).end('<h1>Bad Gateway</h1>'));
  await new Promise<void>((resolve) => proxy.listen(port, '127.0.0.1', resolve));
  await page.locator('body.stale .live-state', { hasText: 'Out of date' }).waitFor();
  await new Promise((resolve) => setTimeout(resolve, 7_000));
  proxy.closeAllConnections();
  await new Promise((resolve) => proxy.close(resolve));
  await openApp();
  await page.locator('body:not(.stale) .live-state', { hasText: /^live$/ }).waitFor({ timeout: 40_000 });
  expect(await page.getByLabel('Reason').inputValue()).toBe('confirmed by phone');
});

it('a page that nobody sees holds no connection, and goes on when it is seen', async () => {
  const show = (isShown: boolean) =>
    page.evaluate(
      `Object.defineProperty(document, 'hidden', { value: ${!isShown}, configurable: true });
      document.dispatchEvent(new Event('visibilitychange'));`,
    );
  const connections = () =>
    new Promise<number>((resolve) => the.app.server.getConnections((_, count) => resolve(count)));
  await page.goto('/quiet');
  await page.locator('.live-state', { hasText: /^live$/ }).waitFor();
  const before = await page.locator('#shown').innerText();
  const open = await connections();
  await show(false);
  await expect.poll(connections).toBeLessThan(open);
  await show(true);
  await expect.poll(() => page.locator('#shown').innerText()).not.toBe(before);
  expect(await state()).toBe('live');
});
