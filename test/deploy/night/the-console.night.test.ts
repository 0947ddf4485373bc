import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launchChromium } from '../../browser/console-in-browser.ts';
import { ControlFixture } from '../../support/control-fixture.ts';
import { sealBody } from '../../support/seal.ts';
import { postSigned } from '../../support/sign.ts';
import { setTopicConfig } from '../../support/topic-config.ts';
import { ALERT_MS, Night } from './night.ts';
import { type SlowKafka, startSlowKafka } from './slow-kafka.ts';
import { newKeys, Traffic, webhook } from './traffic.ts';

const keys = newKeys();
const encryptionKey = 'k'.repeat(32);

let kafka: SlowKafka;
let the: ControlFixture;
let night: Night;
let browser: Browser;
/** The one page that whoever is on call has open. */
let page: Page;
const traffic: Traffic[] = [];

beforeAll(async () => {
  [kafka, night, browser] = await Promise.all([startSlowKafka(), Night.begin(), launchChromium()]);
  the = await ControlFixture.make(kafka.stack);
  const { fixture, ingress, control } = the;
  fixture.secrets('ledger-eu', {
    'subscription-id': keys.subscriptionId,
    'signing-secret': keys.signingSecret,
    'encryption-key': 'o'.repeat(32),
  });
  const spooled = await fixture.ingress({ SPOOL_DIR: join(fixture.dir, 'spool') });
  await night.watch('plain', 'ingress', ingress.process);
  await night.watch('plain', 'control', control);
  await night.watch('spooled', 'ingress', spooled.process);
  const targets = [ingress.process, spooled.process, control].map((one) => one.adminUrl());
  const running = fixture.start('src/console/main.ts', {
    CONSOLE_PORT: '0',
    CONSOLE_TARGETS: (await Promise.all(targets)).join(','),
    PROMETHEUS_URL: night.prometheus.url,
  });
  const { port } = await running.logged('console listening');
  for (const { url } of [ingress, spooled])
    traffic.push(new Traffic({ url: `${url}/webhooks/ledger-eu`, keys }));
  page = await browser.newPage({ baseURL: `http://127.0.0.1:${port}` });
  page.setDefaultTimeout(30_000);
});

afterAll(async () => {
  for (const one of traffic) one[Symbol.dispose]();
  await browser?.close();
  await the?.[Symbol.asyncDispose]();
  await night?.[Symbol.asyncDispose]();
  await kafka?.[Symbol.asyncDispose]();
});

const problem = (badge: 'Act now' | 'Look today', words: string) =>
  page.locator('.problems li', { hasText: badge }).filter({ hasText: words });

/** Waits for the problem in the open page. @returns what the page says to do about it */
async function sees(badge: 'Act now' | 'Look today', words: string): Promise<string> {
  await problem(badge, words).first().waitFor({ timeout: ALERT_MS });
  return problem(badge, words).first().locator('.remedy').innerText();
}

const seesNoMore = (badge: 'Act now' | 'Look today', words: string) =>
  expect.poll(() => problem(badge, words).count(), { timeout: ALERT_MS, interval: 500 }).toBe(0);

async function says(words: string): Promise<void> {
  const found = page.locator('#job').getByText(words);
  await found.waitFor({ timeout: 60_000 }).catch(async (cause) => {
    throw new Error(`${page.url()} says: ${await page.locator('main').innerText()}`, { cause });
  });
}

describe('at night, with nothing but the console', () => {
  it('both objectives page while Kafka is unavailable, and what to do is said beside them', async () => {
    await page.goto('/');
    await page.getByText('All is well').waitFor();
    await kafka.node.kill('SIGKILL');
    await sees('Act now', 'HooklineWebhooksNotAcknowledged');
    await sees('Act now', 'HooklineEventsNotDelivered');
    await sees('Act now', 'were answered 5xx in five minutes: they are not stored');
    expect(await sees('Act now', 'new events go to the spool')).toContain('Restore Kafka');
    await page
      .locator('#pods')
      .getByText(/^kafka: /)
      .first()
      .waitFor();

    await kafka.node.start();
    await seesNoMore('Act now', 'HooklineWebhooksNotAcknowledged');
    await seesNoMore('Act now', 'HooklineEventsNotDelivered');
    await seesNoMore('Act now', 'new events go to the spool');
  });

  it('dead-letter records that nobody has looked at page: one is redriven, the other dismissed', async () => {
    const url = `${the.ingress.url}/webhooks/ledger-eu`;
    await setTopicConfig(the.fixture.env, the.fixture.topic('dead-letter'), { 'retention.ms': '120000' });
    const sealed = sealBody(encryptionKey, webhook(4_711));
    expect((await postSigned(url, keys, sealed)).status).toBe(200);
    expect((await postSigned(url, keys, '{"broken')).status).toBe(200);
    await sees('Look today', 'HooklineDeadLettersOpen');
    await sees('Act now', 'HooklineDeadLettersExpire');
    expect(await sees('Look today', '2 dead-letter records are open.')).toContain('redrive or dismiss');

    await page.goto('/dead-letters');
    await page.getByRole('link', { name: 'PARSE' }).click();
    await page.getByLabel('Reason for dismissing them').fill('a test of the team');
    await page.getByRole('button', { name: 'Dismiss' }).click();
    await says('1 of 1: 1 dismissed.');

    await page.goto('/dead-letters');
    await page.getByRole('link', { name: 'DECRYPT' }).click();
    await page
      .locator('#deadLetters')
      .getByRole('link', { name: /^\d+:\d+$/ })
      .click();
    await page.getByText('add the key to SECRETS_DIR/ledger-eu/encryption-key').waitFor();
    the.fixture.secrets('ledger-eu', { 'encryption-key': `${encryptionKey}\n${'o'.repeat(32)}` });
    await page.getByRole('button', { name: 'Redrive', exact: true }).click();
    await says('1 of 1: 1 stored.');

    await page.goto('/');
    await page.locator('#verdict').waitFor();
    await seesNoMore('Act now', 'HooklineDeadLettersExpire');
    await seesNoMore('Look today', 'HooklineDeadLettersOpen');
    const stored = (await the.fixture.read('payment-status')).map(({ record }) => record?.source);
    expect(stored).toContain(webhook(4_711));
  });

  it('it says when nothing needs anybody now', async () => {
    await page.goto('/');
    // What was answered 5xx counts for five minutes; the tickets of the objectives for longer than the drill.
    await expect
      .poll(() => page.locator('#verdict .sentence').innerText(), { timeout: 400_000, interval: 1_000 })
      .toMatch(/^(All is well|\d+ things? to look at today)$/);
    expect(await problem('Act now', '').count()).toBe(0);
  });
});
