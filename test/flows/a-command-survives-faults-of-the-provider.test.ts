import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { ControlFixture } from '../support/control-fixture.ts';
import { until } from '../support/until.ts';

let the: ControlFixture;

beforeAll(async () => {
  the = await ControlFixture.make(inject('stack'));
});

afterAll(() => the[Symbol.asyncDispose]());

const faults = (...rules: object[]) => the.sandbox.call('PUT', '/_sandbox/faults', { json: rules });
const requests = async (operation: string) =>
  (await the.sandbox.call('GET', `/_sandbox/requests?operation=${operation}`)).json.length;
const at = async (ref: string) => (await the.subscriptions()).filter(({ url }) => url.endsWith(`/${ref}`));
const create = (ref: string) => the.run({ type: 'subscription.create', ref, events: ['payment-status'] });

/** It is one subscription, and its webhooks are verified. */
async function expectOneThatWorks(ref: string) {
  expect(await at(ref)).toHaveLength(1);
  const [execution] = await the.trigger({ ref });
  expect(execution?.status).toBe(200);
}

describe('a create', () => {
  it.each([
    ['is cut off before it has its effect', { kind: 'drop-before' }],
    ['has its effect and the answer is lost', { kind: 'drop-after' }],
    ['has its effect and is answered 500', { kind: 'status', code: 500, effect: true }],
    ['is answered 503', { kind: 'status', code: 503 }],
    ['is answered 429 with Retry-After', { kind: 'status', code: 429, headers: { 'retry-after': '1' } }],
    ['has its effect and is answered with an error page', { kind: 'html-200', effect: true }],
    ['has its effect and half of the answer comes', { kind: 'truncated-body' }],
  ])('that %s ends with one subscription that works', async (name, fault) => {
    const ref = name.replaceAll(/[^a-z0-9]+/g, '-').slice(0, 40);
    await faults({ operation: 'create', times: 1, ...fault });
    expect(await create(ref)).toMatchObject({ status: 'SUCCEEDED' });
    await expectOneThatWorks(ref);
  });

  it('whose process is killed after the call, before the answer, is brought to its end by the next', async () => {
    await faults({ operation: 'create', kind: 'hang', effect: true, times: 1 });
    const command = {
      commandId: 'killed-in-flight',
      type: 'subscription.create',
      ref: 'killed',
      events: ['payment-status'],
    };
    await the.send('killed', command);
    await until('the call has had its effect', async () => (await at('killed')).length === 1);
    the.control.kill('SIGKILL');
    await the.control.end();
    expect(await the.state('killed')).toMatchObject({ state: 'REQUESTED' });
    the.control = await the.fixture.control(the.urls);
    expect(await the.result('killed-in-flight')).toMatchObject({ status: 'SUCCEEDED' });
    await expectOneThatWorks('killed');
  });

  it('finds an address taken by a subscription that is not its own, and leaves it alone', async () => {
    const url = `${the.ingress.url}/webhooks/taken`;
    const { json: foreign } = await the.sandbox.call('POST', '/_sandbox/subscriptions', {
      json: { url, events: ['payment_status'] },
    });
    expect(await create('taken')).toMatchObject({ status: 'REJECTED', errorCode: 'URL_IN_USE' });
    expect((await at('taken')).map(({ id }) => id)).toEqual([foreign.id]);
  });

  it('is answered with an id that can not be part of a signing key: FAILED, named, nothing left behind', async () => {
    await faults({ operation: 'create', kind: 'alter', set: { '/id': 'short' }, times: null });
    const result = await create('odd-id');
    await faults();
    expect(result).toMatchObject({
      status: 'FAILED',
      errorCode: 'PROVIDER_ANSWER_INVALID',
      message: expect.stringContaining('5 characters'),
    });
    expect(await at('odd-id')).toEqual([]);
    expect(await the.state('odd-id')).toBeNull();
  });

  it('is not redirected anywhere', async () => {
    await faults({ operation: 'create', kind: 'redirect', code: 307, times: 1 });
    expect(await create('redirected')).toMatchObject({
      status: 'FAILED',
      errorCode: 'PROVIDER_REFUSED',
      httpStatus: 307,
    });
  });
});

describe('the access token', () => {
  it('is one for many calls, and replaced once when it is no longer taken', async () => {
    await the.run({ type: 'subscription.list' });
    const before = await requests('token');
    for (let n = 0; n < 3; n++)
      expect(await the.run({ type: 'subscription.list' })).toMatchObject({ status: 'SUCCEEDED' });
    expect(await requests('token')).toBe(before);
    await the.sandbox.call('POST', '/_sandbox/tokens/revoke');
    expect(await the.run({ type: 'subscription.list' })).toMatchObject({
      status: 'SUCCEEDED',
      httpStatus: 200,
    });
    expect(await requests('token')).toBe(before + 1);
  });

  it('that is refused fails the command by name, and is told to nobody', async () => {
    await the.sandbox.call('POST', '/_sandbox/tokens/revoke');
    await faults({ operation: 'token', kind: 'status', code: 401, times: 1 });
    expect(await the.run({ type: 'subscription.list' })).toMatchObject({
      status: 'FAILED',
      errorCode: 'TOKEN_REFUSED',
    });
    expect(await the.run({ type: 'subscription.list' })).toMatchObject({ status: 'SUCCEEDED' });
    expect(the.fixture.logs()).not.toContain('sandbox-lite-jwt');
  });

  it('that does not come for a while is waited for', async () => {
    await the.sandbox.call('POST', '/_sandbox/tokens/revoke');
    await faults({ operation: 'token', kind: 'status', code: 503, times: 2 });
    expect(await the.run({ type: 'subscription.list' })).toMatchObject({ status: 'SUCCEEDED' });
  });
});
