import { describe, expect, it } from 'vitest';
import type { Outcome, ProviderCall } from '../../../src/provider/call-provider.ts';
import { createInPart, url } from '../../support/adoptions.ts';
import { type ControlHarness, create, openControlHarness } from '../../support/control-harness.ts';

type Item = { id: string; url: string } & Record<string, unknown>;

/** Changes what the provider answers before control reads it. */
function answers(harness: ControlHarness, method: string, change: (outcome: Outcome) => Partial<Outcome>) {
  const parts = harness.parts as { call: ProviderCall };
  const { call } = parts;
  parts.call = async (request) => {
    const outcome = await call(request);
    return request.method === method ? { ...outcome, ...change(outcome) } : outcome;
  };
}

const listed = (harness: ControlHarness, change: (items: Item[]) => unknown[]) =>
  answers(harness, 'GET', ({ body }) => ({ body: change(body as Item[]) }));

const there = async (harness: ControlHarness) => (await harness.subscriptions()).map(({ url }) => url);

const remove = { type: 'subscription.delete', ref: 'a' };

describe('a provider that spells addresses in another way', () => {
  it('has no second subscription after a lost answer', async () => {
    await using harness = await openControlHarness();
    listed(harness, (items) =>
      items.map((one) => ({
        ...one,
        url: one.url.replace('https://', 'HTTPS://').replace('/webhooks', ':443/webhooks'),
      })),
    );
    await harness.sandbox.fail({ operation: 'create', kind: 'drop-after', times: 1 });
    expect(await harness.run(create('a'))).toMatchObject({ status: 'SUCCEEDED' });
    expect(await there(harness)).toEqual([url]);
  });
});

describe('a PUBLIC_URL that has changed since a creation that came to no end', () => {
  it('leaves nothing at the address before: a deletion removes it', async () => {
    await using harness = await openControlHarness();
    await createInPart(harness);
    Object.assign(harness.parts, { publicUrl: 'https://new.example' });
    expect(await harness.run(remove)).toMatchObject({ status: 'SUCCEEDED' });
    expect(await there(harness)).toEqual([]);
  });

  it('leaves nothing at the address before: so does the creation that is taken up again', async () => {
    await using harness = await openControlHarness();
    const record = await createInPart(harness);
    Object.assign(harness.parts, { publicUrl: 'https://new.example' });
    await harness.take(record);
    expect(harness.results.at(-1)).toMatchObject({ status: 'SUCCEEDED' });
    expect(await there(harness)).toEqual(['https://new.example/webhooks/a']);
  });
});

describe('a provider that lists without addresses', () => {
  it('is no proof that a call whose answer was lost has made nothing: the creation fails, and its intent stays', async () => {
    await using harness = await openControlHarness();
    listed(harness, (items) => items.map(({ url: _, ...one }) => one));
    await harness.sandbox.fail({ operation: 'create', kind: 'drop-after', times: 1 });
    const result = await harness.run(create('a'));
    expect(result).toMatchObject({ status: 'FAILED', errorCode: 'PROVIDER_ANSWER_INVALID' });
    expect(result.message).toContain("correct the dialect's list.url");
    expect([await there(harness), harness.state.get('a')?.state]).toEqual([[url], 'REQUESTED']);
  });

  it('proves nothing either where others of ours are listed so, and the process has changed since', async () => {
    await using harness = await openControlHarness();
    listed(harness, (items) => items.map(({ url: _, ...one }) => one));
    await harness.run(create('b'));
    await createInPart(harness);
    expect(await harness.run(remove)).toMatchObject({
      status: 'FAILED',
      errorCode: 'PROVIDER_ANSWER_INVALID',
    });
    expect(harness.state.get('a')?.state).toBe('REQUESTED');
  });

  it('holds up nothing by a subscription of somebody else, which has none', async () => {
    await using harness = await openControlHarness();
    listed(harness, (items) => [{ id: 'by-e-mail', events: ['x'] }, ...items]);
    await harness.sandbox.fail({ operation: 'create', kind: 'drop-before', times: 1 });
    expect(await harness.run(create('a'))).toMatchObject({ status: 'SUCCEEDED' });
    await harness.sandbox.fail({ operation: 'create', kind: 'drop-after', times: 1 });
    expect(await harness.run(create('b'))).toMatchObject({ status: 'SUCCEEDED' });
    expect((await there(harness)).sort()).toEqual([url, url.replace(/a$/, 'b')]);
  });

  it('is taken as it is where a call was certainly without effect', async () => {
    await using harness = await openControlHarness();
    listed(harness, (items) => items.map(({ url: _, ...one }) => one));
    await harness.run(create('b'));
    await harness.sandbox.fail({ operation: 'create', kind: 'status', code: 429, times: 1 });
    expect(await harness.run(create('a'))).toMatchObject({ status: 'SUCCEEDED' });
  });

  it('is taken as it is where nothing is in doubt', async () => {
    await using harness = await openControlHarness();
    listed(harness, (items) => items.map(({ url: _, ...one }) => one));
    for (const ref of ['b', 'a'])
      expect(await harness.run(create(ref))).toMatchObject({ status: 'SUCCEEDED' });
    expect(await harness.run(remove)).toMatchObject({ status: 'SUCCEEDED' });
    expect(await there(harness)).toHaveLength(1);
  });
});

describe('a provider that answers a creation in an odd way', () => {
  it("with the id of another ref's subscription is not believed: what that team has stays its own", async () => {
    await using harness = await openControlHarness();
    await harness.run(create('b'), 'topic-b');
    const id = harness.state.get('b')?.subscriptionId;
    answers(harness, 'POST', ({ status, body }) =>
      status === 201 ? { body: { ...(body as Item), id } } : {},
    );
    const result = await harness.run(create('a'), 'topic-a');
    expect(result).toMatchObject({ status: 'FAILED', errorCode: 'PROVIDER_ANSWER_INVALID' });
    expect([harness.state.get('a'), await there(harness)]).toEqual([undefined, [url.replace(/a$/, 'b')]]);
  });

  it('with an id that its list spells in another case keeps what it has just made', async () => {
    await using harness = await openControlHarness();
    answers(harness, 'POST', ({ status, body }) =>
      status === 201 ? { body: { ...(body as Item), id: (body as Item).id.toUpperCase() } } : {},
    );
    await harness.sandbox.fail({ operation: 'create', kind: 'drop-before', times: 1 });
    expect(await harness.run(create('a'))).toMatchObject({ status: 'SUCCEEDED' });
    expect(await there(harness)).toEqual([url]);
  });

  it('by 202 and an id that cannot be verified leaves nothing', async () => {
    await using harness = await openControlHarness();
    answers(harness, 'POST', ({ status, body }) => {
      if (status !== 201) return {};
      const { signingSecret: _, ...unsigned } = body as Item;
      return { status: 202, body: unsigned };
    });
    expect(await harness.run(create('a'))).toMatchObject({
      status: 'FAILED',
      errorCode: 'PROVIDER_ANSWER_INVALID',
    });
    expect([harness.state.get('a'), await there(harness)]).toEqual([undefined, []]);
  });

  it('by 202 and no id is asked once, and what it makes later is removed by the next command', async () => {
    await using harness = await openControlHarness();
    const parts = harness.parts as { call: ProviderCall };
    const { call } = parts;
    const late: (() => Promise<Outcome>)[] = [];
    parts.call = async (request) => {
      if (request.method !== 'POST') return call(request);
      late.push(() => call(request));
      const why = 'the provider answered 202';
      return { judgement: 'done', status: 202, body: undefined, why, retryAfterMs: null };
    };
    const result = await harness.run(create('a'));
    expect(result).toMatchObject({ status: 'FAILED', errorCode: 'PROVIDER_ANSWER_INVALID', attempts: 2 });
    expect([late.length, harness.state.get('a')?.state]).toEqual([1, 'REQUESTED']);
    for (const made of late) await made();
    expect(await harness.run(remove)).toMatchObject({ status: 'SUCCEEDED' });
    expect(await there(harness)).toEqual([]);
  });
});

describe('a provider that answers a deletion 404', () => {
  it('and lists the subscription twice, once as active, has it still', async () => {
    await using harness = await openControlHarness();
    for (const ref of ['a', 'b']) await harness.run(create(ref));
    const id = harness.state.get('a')?.subscriptionId;
    listed(harness, (items) => [
      ...items.filter((one) => one.id === id).map((one) => ({ ...one, active: false })),
      ...items,
    ]);
    await harness.sandbox.fail({ operation: 'delete', kind: 'status', code: 404, times: 1 });
    expect(await harness.run(remove)).toMatchObject({ status: 'SUCCEEDED', message: 'deleted' });
    expect(await there(harness)).toEqual([url.replace(/a$/, 'b')]);
  });
});
