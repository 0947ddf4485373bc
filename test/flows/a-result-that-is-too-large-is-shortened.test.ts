import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { ControlFixture } from '../support/control-fixture.ts';
import { setTopicBytes } from '../support/topic-config.ts';
import { until } from '../support/until.ts';

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

describe('a result that its topic takes in no form', () => {
  it('waits, readiness says what to do, and the provider is not asked again', async () => {
    const results = the.fixture.topic('command-results');
    const requests = async () =>
      (await the.control.metrics()).match(/^hookline_provider_requests_total\{.*replay.*$/gm);
    await setTopicBytes(the.fixture.env, results, 200);
    await the.send('a', { commandId: 'waits', type: 'webhook.replay', ref: 'a', executionIds: ['e-1'] });
    const readiness = () => fetch(`${admin}/readyz`).then((answer) => answer.text());
    const admin = await the.control.adminUrl();
    await until('readiness says why', async () =>
      (await readiness()).includes(
        `RECORD_TOO_LARGE: the record is larger than its topic takes (${results}): raise its max.message.bytes`,
      ),
    );
    const before = await requests();
    // Of one try behind the other, the third one.
    await the.control.logged('not stored yet, trying again');
    await until('it was tried again', () => the.control.written().split('not stored yet').length > 4);
    expect(await requests()).toEqual(before);
    await setTopicBytes(the.fixture.env, results, 1_000_000);
    expect(await the.result('waits')).toMatchObject({ type: 'webhook.replay' });
    expect(await the.results('waits')).toHaveLength(1);
  });
});
