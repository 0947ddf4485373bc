import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { ConsoleInBrowser, SCRIPT, show } from './console-in-browser.ts';

let the: ConsoleInBrowser;
let seeded: { eventId: string };

beforeAll(async () => {
  the = await ConsoleInBrowser.open(inject('stack'));
  seeded = await the.seed();
});

afterAll(() => the?.[Symbol.asyncDispose]());

describe('what is hostile', () => {
  it.each([
    ['find', () => `/find?q=${seeded.eventId}`],
    [
      'events-of-a-topic',
      () => `/events/${the.control.fixture.topic('payment-status')}?key=${encodeURIComponent(SCRIPT)}`,
    ],
    ['commands', () => '/commands'],
    ['a search', () => `/find?q=${encodeURIComponent(SCRIPT)}`],
    ['a history', () => `/commands?ref=${encodeURIComponent(SCRIPT)}`],
  ])('is shown as text by %s', async (_, path) => {
    const page = await the.page({ width: 1_280, scheme: 'light' });
    await show(page, path());
    const shown = async () => {
      const text = await page.locator('main').innerText();
      const values = await page
        .locator('main input')
        .evaluateAll((inputs) => inputs.map((input) => (input as unknown as { value: string }).value));
      return [text, ...values].some((one) => one.includes('window.attacked=1'));
    };
    // The index takes its time with what was just written.
    await expect.poll(shown, { timeout: 20_000 }).toBe(true);
    expect(await page.evaluate<number>('window.attacked ?? 0')).toBe(0);
    await page.context().close();
    expect(the.faults).toEqual([]);
  });
});
