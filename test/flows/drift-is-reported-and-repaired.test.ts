import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { ControlFixture } from '../support/control-fixture.ts';
import { until } from '../support/until.ts';

const INTERVAL_MS = 1_000;

let the: ControlFixture;

type Drift = {
  finishedAt: number;
  status: string;
  type: string;
  ref: string | null;
  errorCode: string | null;
  message: string;
};

beforeAll(async () => {
  the = await ControlFixture.make(inject('stack'), { RECONCILE_INTERVAL_MS: String(INTERVAL_MS) });
});

afterAll(() => the[Symbol.asyncDispose]());

const create = (ref: string) =>
  the.run({ type: 'subscription.create', ref, events: ['payment_status', 'accounts-entries'] });

/** What the results topic tells of drift, oldest first. */
async function told(about: { ref?: string; subscriptionId?: string }): Promise<(string | null)[]> {
  const records = (await the.fixture.read('command-results', 0)).map(({ record }) => record);
  return (records as (Drift & typeof about)[])
    .filter(({ status, ref, subscriptionId }) => {
      return status === 'DRIFT' && (about.ref ? ref === about.ref : subscriptionId === about.subscriptionId);
    })
    .toSorted((one, other) => one.finishedAt - other.finishedAt)
    .map(({ errorCode }) => errorCode);
}

/** What a control process shows of drift now, by kind; undefined where another one compares. */
async function gauge(control = the.control): Promise<Record<string, number>> {
  const text = await control.metrics();
  return Object.fromEntries(
    [...text.matchAll(/^hookline_subscription_drift\{kind="(\w+)"\} (\d+)$/gm)].map(([, kind, count]) => [
      kind,
      Number(count),
    ]),
  );
}

const atProvider = async (id: string | null) => (await the.subscriptions()).find((one) => one.id === id);

/** What somebody does at the provider, past Hookline. */
async function changeAtProvider(id: string | null, more: object) {
  const { url, signingSecret, encryptionKey, events } = (await atProvider(id)) ?? expect.fail('not there');
  const json = { id, url, signingSecret, encryptionKey, events, ...more };
  await the.sandbox.call('POST', '/_sandbox/subscriptions', { json });
}

describe('drift', () => {
  it('is told once as a record and as a gauge, whatever was done past Hookline, and told again when it is over', async () => {
    const { subscriptionId: changed } = await create('changed');
    const { subscriptionId: missing } = await create('missing');
    await changeAtProvider(changed, { events: ['collection-status'] });
    await the.sandbox.call('DELETE', `/_sandbox/subscriptions/${missing}`);
    const json = { url: 'https://elsewhere.example/hook', events: ['payment_status'] };
    const foreign = (await the.sandbox.call('POST', '/_sandbox/subscriptions', { json })).json;
    await until('all are seen', async () => {
      const { changed: one, missing: two, foreign: three } = await gauge();
      return one === 1 && two === 1 && three === 1;
    });
    const seen = async () => [
      ...[await told({ ref: 'changed' }), await told({ ref: 'missing' })],
      await told({ subscriptionId: foreign.id }),
    ];
    const once = [['SUBSCRIPTION_CHANGED'], ['SUBSCRIPTION_MISSING'], ['SUBSCRIPTION_FOREIGN']];
    await expect.poll(seen, { timeout: 10_000 }).toEqual(once);
    await anotherLook();
    expect(await seen()).toEqual(once);
    // Reported, not repaired, and what is not ours left alone.
    expect(await atProvider(changed)).toMatchObject({ events: ['collection-status'] });
    expect(await atProvider(missing)).toBeUndefined();
    expect(await atProvider(foreign.id)).toMatchObject({ url: json.url });
    const { drift } = (await the.run({ type: 'subscription.list' })) as unknown as { drift: Drift[] };
    expect(drift.map(({ ref, errorCode }) => [ref, errorCode])).toEqual([
      ['changed', 'SUBSCRIPTION_CHANGED'],
      ['missing', 'SUBSCRIPTION_MISSING'],
      [null, 'SUBSCRIPTION_FOREIGN'],
    ]);
    expect(await the.run({ type: 'subscription.update', ref: 'changed' })).toMatchObject({
      status: 'SUCCEEDED',
    });
    await expect
      .poll(() => told({ ref: 'changed' }), { timeout: 20_000 })
      .toEqual(['SUBSCRIPTION_CHANGED', null]);
    await the.sandbox.call('DELETE', `/_sandbox/subscriptions/${foreign.id}`);
  });

  it('that a restarted control finds again is not told again; one control process of two compares', async () => {
    await the.control.stop();
    const env = { RECONCILE_INTERVAL_MS: String(INTERVAL_MS) };
    const two = await Promise.all([the.fixture.control(the.urls, env), the.fixture.control(the.urls, env)]);
    the.control = two[0];
    const compare = async () => {
      const shown = await Promise.all(two.map((control) => gauge(control)));
      return shown.filter((one) => Object.keys(one).length > 0);
    };
    await until('one compares', async () => (await compare()).length === 1, 40_000);
    await anotherLook(...two);
    expect(await compare()).toMatchObject([{ missing: 1 }]);
    expect(await told({ ref: 'missing' })).toEqual(['SUBSCRIPTION_MISSING']);
    await two[1].stop();
  });

  it('of a subscription that is listed as not active is told', async () => {
    const { subscriptionId } = await create('disabled');
    const at = (await the.subscriptions()).findIndex(({ id }) => id === subscriptionId);
    const fault = { operation: 'list', kind: 'alter', set: { [`/${at}/active`]: false }, times: null };
    await the.sandbox.call('PUT', '/_sandbox/faults', { json: [fault] });
    await expect
      .poll(() => told({ ref: 'disabled' }), { timeout: 40_000 })
      .toEqual(['SUBSCRIPTION_DISABLED']);
    await the.sandbox.call('PUT', '/_sandbox/faults', { json: [] });
    await expect
      .poll(() => told({ ref: 'disabled' }), { timeout: 40_000 })
      .toEqual(['SUBSCRIPTION_DISABLED', null]);
  });

  it('is repaired under RECONCILE=repair, until webhooks are verified again; what is foreign is not touched', async () => {
    const { subscriptionId: changed } = await create('repaired');
    const { subscriptionId: lost } = await create('recreated');
    const json = { url: 'https://elsewhere.example/other', events: ['payment_status'] };
    const foreign = (await the.sandbox.call('POST', '/_sandbox/subscriptions', { json })).json;
    await the.control.stop();
    the.control = await the.fixture.control(the.urls, {
      RECONCILE: 'repair',
      RECONCILE_INTERVAL_MS: String(INTERVAL_MS),
    });
    await changeAtProvider(changed, { url: 'http://127.0.0.1:9/x', events: ['collection-status'] });
    await the.sandbox.call('DELETE', `/_sandbox/subscriptions/${lost}`);
    await until(
      'both are repaired',
      async () => {
        const one = await atProvider(changed);
        const two = await the.state('recreated');
        return (
          one?.url.endsWith('/webhooks/repaired') && two?.state === 'ACTIVE' && two.subscriptionId !== lost
        );
      },
      40_000,
    );
    expect(await atProvider(changed)).toMatchObject({ events: ['payment-status', 'accounts-entries'] });
    const again = String((await the.state('recreated'))?.subscriptionId);
    expect(await atProvider(again)).toMatchObject({ events: ['payment-status', 'accounts-entries'] });
    const [delivered] = await the.trigger({ ref: 'recreated', sealed: true });
    expect(delivered?.status).toBe(200);
    expect(await atProvider(foreign.id)).toMatchObject({ url: json.url });
    await expect
      .poll(() => told({ ref: 'recreated' }), { timeout: 20_000 })
      .toEqual(['SUBSCRIPTION_MISSING', null]);
  });
});

/** Waits until the two were compared once more, from now on. */
async function anotherLook(...controls: (typeof the.control)[]): Promise<void> {
  const since = Date.now() / 1_000;
  await until(
    'another look',
    async () => {
      const texts = await Promise.all(
        (controls.length ? controls : [the.control]).map((one) => one.metrics()),
      );
      return texts.some(
        (text) => Number(/^hookline_reconciled_timestamp_seconds (\S+)$/m.exec(text)?.[1]) > since + 0.5,
      );
    },
    30_000,
  );
}
