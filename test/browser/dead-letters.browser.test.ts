import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { ConsoleInBrowser, SCRIPT } from './console-in-browser.ts';

let the: ConsoleInBrowser;
let page: Page;
let seeded: { eventId: string };

beforeAll(async () => {
  the = await ConsoleInBrowser.open(inject('stack'));
  seeded = await the.seed();
  page = await the.page({ width: 1_280, scheme: 'light' });
});

afterAll(() => the?.[Symbol.asyncDispose]());

const job = () => page.locator('#job');

it('an event is found by its id, and its story goes on while the page is open', async () => {
  await page.goto('/find');
  await page.getByLabel('Event id, entity, ref or command id').fill(seeded.eventId);
  await page.getByRole('button', { name: 'Find', exact: true }).click();
  await page.locator('#story').getByText('received', { exact: true }).waitFor();
  await page.locator('#story').getByText('stored', { exact: true }).waitFor();
  await page.getByLabel('Event id, entity, ref or command id').fill('ledger-eu');
  await page.getByRole('button', { name: 'Find', exact: true }).click();
  const rows = page.locator('#story tbody tr');
  await rows.first().waitFor();
  const before = await rows.count();
  await the.control.trigger({ ref: 'ledger-eu' });
  await expect.poll(() => rows.count(), { timeout: 20_000 }).toBeGreaterThan(before);
  await page.getByText('topics are indexed as a whole').click();
  const indexed = page.locator('#coverage tbody').first();
  const offsets = await indexed.innerText();
  await the.control.trigger({ ref: 'ledger-eu' });
  // What somebody has unfolded stays so while it changes.
  await expect.poll(() => indexed.innerText(), { timeout: 20_000 }).not.toBe(offsets);
  expect(await indexed.isVisible()).toBe(true);
});

it('events arrive in an open page, and are revealed on request', async () => {
  await page.goto(`/events/${the.control.fixture.topic('payment-status')}`);
  const records = page.locator('#records article');
  await records.first().waitFor();
  const before = await records.count();
  expect(await records.first().innerText()).toMatch(/hidden \(PII, \d+ bytes\)$/m);
  await page.locator('.live-state', { hasText: 'live' }).waitFor();
  await the.control.trigger({ ref: 'ledger-eu' });
  await expect.poll(() => records.count(), { timeout: 20_000 }).toBeGreaterThan(before);
  await page.getByLabel('Show what the schemas tag as sensitive').check();
  await page.getByRole('button', { name: 'Filter' }).click();
  await records.first().waitFor();
  expect(await page.locator('main').innerText()).not.toContain('hidden (PII');
  await page.getByLabel('Key or entity').fill(SCRIPT);
  await page.getByRole('button', { name: 'Filter' }).click();
  await expect.poll(() => records.count()).toBe(1);
  expect(await records.innerText()).toContain('window.attacked=1');
});

it('a cause leads to its records, a record to its remedy', async () => {
  await page.goto('/dead-letters');
  await page.getByRole('link', { name: 'PARSE' }).click();
  await page.getByText('Open records that are selected: 1.').waitFor();
  await page.getByRole('link', { name: /^\d+:\d+$/ }).click();
  await page.getByText('otherwise, as where it is a list, ask the provider').waitFor();
});

it('a redrive is tried, and its job is there after a reload', async () => {
  await page.goto('/dead-letters?stage=PARSE');
  await page.getByRole('link', { name: /^\d+:\d+$/ }).click();
  await page.getByRole('button', { name: 'Dry run' }).click();
  await job().getByText('1 of 1: 1 would be dead-lettered again.').waitFor();
  // The end of a job is read by a screen reader, which follows what is not itself replaced.
  expect(await job().evaluate((one) => one.parentElement?.ariaLive)).toBe('polite');
  expect(await job().getAttribute('aria-busy')).toBe('false');
  await page.reload();
  await job().getByText('1 of 1: 1 would be dead-lettered again.').waitFor();
  await page.goto('/dead-letters');
  await page.getByRole('link', { name: 'Dry run: redrive' }).waitFor();
});

it('a record is dismissed with a reason, and is open no more', async () => {
  await page.goto('/dead-letters?stage=PARSE');
  await page.getByRole('button', { name: 'Dismiss' }).click();
  // The browser asks for the reason first.
  expect(page.url()).toContain('/dead-letters?stage=PARSE');
  await page.getByLabel('Reason for dismissing them').fill(SCRIPT);
  await page.getByRole('button', { name: 'Dismiss' }).click();
  await job().getByText('1 of 1: 1 dismissed.').waitFor();
  expect(await job().innerText()).toContain('window.attacked=1');
  await page.goto('/dead-letters?stage=PARSE');
  await page.locator('#deadLetters').getByText('dismissed', { exact: true }).waitFor();
  await page.getByText('Open records that are selected: 0.').waitFor();
  expect(await page.evaluate<number>('window.attacked ?? 0')).toBe(0);
  expect(the.faults).toEqual([]);
});
