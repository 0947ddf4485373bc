import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { until } from '../support/until.ts';
import { ConsoleInBrowser } from './console-in-browser.ts';

let the: ConsoleInBrowser;
let page: Page;

beforeAll(async () => {
  the = await ConsoleInBrowser.open(inject('stack'));
  page = await the.page({ width: 1_280, scheme: 'light' });
});

afterAll(() => the?.[Symbol.asyncDispose]());

const audited = async () =>
  (await the.control.fixture.read('audit', 0)).map(({ value }) => JSON.parse(String(value)));

it('a command is tried as a dry run, sent, and followed to its result', async () => {
  await page.goto('/commands');
  await page.getByLabel('ref', { exact: true }).fill('ledger-eu');
  await page.getByLabel('events', { exact: true }).fill('payment_status, accounts-entries');
  expect(await page.getByLabel('dryRun').isChecked()).toBe(true);
  await page.getByRole('button', { name: 'Send the command' }).click();
  await page.locator('[aria-live=polite]').getByText('SUCCEEDED').waitFor();
  expect(await the.control.subscriptions()).toEqual([]);
  await page.goto('/commands');
  await page.getByLabel('ref', { exact: true }).fill('ledger-eu');
  await page.getByLabel('events', { exact: true }).fill('payment_status, accounts-entries');
  await page.getByLabel('dryRun').uncheck();
  await page.getByRole('button', { name: 'Send the command' }).click();
  await page.getByText('SUCCEEDED').waitFor();
  expect((await the.control.subscriptions()).map(({ events }) => events.toSorted())).toEqual([
    ['accounts-entries', 'payment-status'],
  ]);
  const entries = (await audited()).filter(({ action }) => action === 'command subscription.create');
  expect(entries.map(({ user, state, details }) => [user, state, details.ref, details.dryRun])).toEqual([
    ['loopback', 'begun', 'ledger-eu', true],
    ['loopback', 'done', 'ledger-eu', true],
    ['loopback', 'begun', 'ledger-eu', false],
    ['loopback', 'done', 'ledger-eu', false],
  ]);
});

it('what is wrong with a command is said before it is sent, above the form as it was filled in', async () => {
  await page.goto('/commands');
  await page.getByLabel('type', { exact: true }).selectOption('subscription.update');
  await page.getByLabel('ref', { exact: true }).fill('Not A Ref');
  await page.getByLabel('events', { exact: true }).fill('payment_status, accounts-entries');
  await page.getByRole('button', { name: 'Send the command' }).click();
  await page.getByText('give at most 63 of a-z').waitFor();
  expect(await page.getByLabel('type', { exact: true }).inputValue()).toBe('subscription.update');
  expect(await page.getByLabel('events', { exact: true }).inputValue()).toBe(
    'payment_status, accounts-entries',
  );
  expect(await page.getByLabel('dryRun').isChecked()).toBe(true);
  await page.getByLabel('dryRun').uncheck();
  await page.getByRole('button', { name: 'Send the command' }).click();
  await page.getByText('give at most 63 of a-z').waitFor();
  expect(await page.getByLabel('dryRun').isChecked()).toBe(false);
  await page.getByLabel('dryRun').check();
  await page.getByLabel('ref', { exact: true }).fill('ledger-eu');
  await page.getByRole('button', { name: 'Send the command' }).click();
  await page.getByText('SUCCEEDED').waitFor();
});

it('a ref has its history, which grows while the page is open', async () => {
  await page.goto('/commands?ref=ledger-eu');
  await page.locator('.live-state', { hasText: 'live' }).waitFor();
  const rows = page.locator('#history tbody tr');
  const before = await rows.count();
  expect(before).toBeGreaterThanOrEqual(2);
  await the.control.run({
    type: 'subscription.update',
    ref: 'ledger-eu',
    events: ['payment_status'],
    issuedBy: 'somebody else',
  });
  await rows.filter({ hasText: 'somebody else' }).waitFor();
  expect(await rows.count()).toBeGreaterThan(before);
});

it('a file is planned beside what is there, and applied as it was seen', async () => {
  await page.goto('/subscriptions');
  await page.getByRole('cell', { name: 'ledger-eu' }).waitFor();
  const text =
    'subscriptions:\n  ledger-eu:\n    events: [payment-status]\n  ledger-us:\n    events: [collection-status]\n';
  await page
    .getByLabel('A file of this computer')
    .setInputFiles({ name: 'subscriptions.yaml', mimeType: 'text/yaml', buffer: Buffer.from(text) });
  await expect.poll(() => page.getByLabel('Its text (YAML)').inputValue()).toBe(text);
  await page.getByRole('button', { name: 'Make the plan' }).click();
  await page.getByText('Plan: 1 to create').waitFor();
  await page.getByRole('button', { name: 'Apply this plan' }).click();
  await page.getByText('1 succeeded, 0 did not.').waitFor();
  await page.getByRole('link', { name: 'Back to the subscriptions' }).click();
  await page.getByRole('cell', { name: 'ledger-us' }).waitFor();
  expect(
    (await audited()).filter(({ action }) => action === 'subscriptions apply').map(({ state }) => state),
  ).toEqual(['begun', 'done']);
});

it('a file whose commands fail is a change that has failed, in the audit trail too', async () => {
  await page.goto('/subscriptions');
  const present = 'ledger-eu:\n    events: [payment-status]\n  ledger-us:\n    events: [collection-status]';
  const text = `subscriptions:\n  ${present}\n  ledger-fr:\n    events: [payment-status]\n`;
  const fault = { operation: 'create', kind: 'status', code: 422, times: 1 };
  await the.control.sandbox.call('PUT', '/_sandbox/faults', { json: [fault] });
  await page.getByLabel('Its text (YAML)').fill(text);
  await page.getByRole('button', { name: 'Make the plan' }).click();
  await page.getByText('Plan: 1 to create').waitFor();
  await page.getByRole('button', { name: 'Apply this plan' }).click();
  await page.getByText('0 succeeded, 1 did not.').waitFor();
  const entries = (await audited()).filter(({ action }) => action === 'subscriptions apply');
  expect(entries.slice(-2)).toMatchObject([
    { state: 'begun' },
    { state: 'failed', message: '0 of 1 commands succeeded' },
  ]);
});

it('a deletion needs a mark, and a plan that is out of date is not applied', async () => {
  const plan = async (text: string) => {
    await page.goto('/subscriptions');
    await page.getByLabel('Its text (YAML)').fill(text);
    await page.getByRole('button', { name: 'Make the plan' }).click();
    await page.getByText('Plan: ').first().waitFor();
  };
  await plan('subscriptions:\n  ledger-eu:\n    events: [payment-status]\n');
  await page.getByRole('button', { name: 'Apply this plan' }).click();
  await page.getByText('it would delete ledger-us').waitFor();
  await plan('subscriptions:\n  ledger-eu:\n    events: [payment-status]\n');
  await the.control.run({ type: 'subscription.update', ref: 'ledger-us', events: ['payment_status'] });
  await page.getByLabel('Also delete ledger-us').check();
  await page.getByRole('button', { name: 'Apply this plan' }).click();
  await page.getByText('Something has changed since the plan was made').waitFor();
  await page.getByRole('button', { name: 'Make the plan' }).click();
  await page.getByText('Plan: ').first().waitFor();
  expect((await the.control.subscriptions()).length).toBe(2);
});

it('faults of a file are named with their line', async () => {
  await page.goto('/subscriptions');
  await page.getByLabel('Its text (YAML)').fill('subscriptions:\n  Wrong Ref:\n    events: [nothing]\n');
  await page.getByRole('button', { name: 'Make the plan' }).click();
  await page.getByText('subscriptions.yaml:2:3').waitFor();
  expect(await page.getByLabel('Its text (YAML)').inputValue()).toContain('Wrong Ref');
});

it('a message shows the record that it becomes', async () => {
  await page.goto('/schemas');
  await page
    .getByLabel('A message, decrypted (JSON)')
    .fill('{"type":"payment-status","entityId":"e-1","payload":{"status":5}}');
  await page.getByRole('button', { name: 'Show its record' }).click();
  await page.getByText('drift: ').waitFor();
  expect(await page.locator('pre').innerText()).toContain('"entityId": "e-1"');
});

it('the overview says what is wrong and what to do, while it is open, and that it is well again', async () => {
  await page.goto('/');
  await page.locator('.live-state', { hasText: 'live' }).waitFor();
  await page.locator('.verdict .sentence').waitFor();
  the.control.control.kill('SIGSTOP');
  await page.getByText('does not answer: ').first().waitFor();
  expect(await page.locator('.verdict .sentence').innerText()).toMatch(/needs? you now$/);
  the.control.control.kill('SIGCONT');
  await until(
    'it is well again',
    async () => (await page.getByText('does not answer: ').count()) === 0,
    60_000,
  );
  expect(the.faults).toEqual([]);
});

it('everything can be reached by the keyboard', async () => {
  await page.goto('/commands');
  await page.keyboard.press('Tab');
  expect(await page.evaluate<string>('document.activeElement.textContent')).toBe('Skip to the content');
  await page.keyboard.press('Enter');
  expect(await page.evaluate<string>('document.activeElement.id')).toBe('content');
});

it('a page beyond the tenth of a user says why it does not change, and goes on when there is room', async () => {
  const others = new AbortController();
  const init = { headers: { accept: 'text/event-stream' }, signal: others.signal };
  // The page before it leaves first.
  await page.goto('/livez');
  const read: Response[] = [];
  await until('ten are read', async () => {
    const one = await fetch(`${the.url}/dead-letters`, init);
    return one.ok && read.push(one) === 10;
  });
  await page.goto('/dead-letters');
  await page.locator('.live-state.lost', { hasText: 'loopback has 10 pages open' }).waitFor();
  others.abort();
  await page.locator('.live-state', { hasText: /^live$/ }).waitFor({ timeout: 60_000 });
});

it('a page says that it is out of date when the console has stopped, and goes on with it', async () => {
  await page.goto('/');
  await page.locator('.live-state', { hasText: 'live' }).waitFor();
  the.running.kill('SIGSTOP');
  // Nothing ends the connection: the page misses what it hears every 15 s.
  await page.locator('body.stale .live-state', { hasText: 'Out of date' }).waitFor({ timeout: 60_000 });
  the.running.kill('SIGCONT');
  await page.locator('body:not(.stale) .live-state', { hasText: 'live' }).waitFor();
});
