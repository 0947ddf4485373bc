import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { ControlFixture } from '../support/control-fixture.ts';
import { setTopicBytes } from '../support/topic-config.ts';

let the: ControlFixture;

beforeAll(async () => {
  the = await ControlFixture.make(inject('stack'));
});

afterAll(() => the[Symbol.asyncDispose]());

describe('a list that is larger than the results topic takes', () => {
  it('is answered once, with the first of it, and those behind it are answered too', async () => {
    for (let n = 0; n < 80; n++) {
      const json = { url: `https://receiver.example/webhooks/${n}`, events: ['payment_status'] };
      await the.sandbox.call('POST', '/_sandbox/subscriptions', { json });
    }
    await setTopicBytes(the.fixture.env, the.fixture.topic('command-results'), 4_000);
    const result = await the.run({ commandId: 'long-list', type: 'subscription.list' });
    expect(result).toMatchObject({
      status: 'SUCCEEDED',
      message: expect.stringMatching(/^80 listed \(the list is cut to \d+:/),
    });
    const listed = result.subscriptions ?? [];
    expect(listed.length).toBeGreaterThan(5);
    expect(listed.map(({ url }) => url)).toEqual(
      listed.map((_, n) => `https://receiver.example/webhooks/${n}`),
    );
    const next = { type: 'subscription.create', ref: 'a', events: ['payment-status'] };
    expect(await the.run(next)).toMatchObject({ status: 'SUCCEEDED' });
    expect(await the.results('long-list')).toHaveLength(1);
  });
});
