import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  create,
  killed,
  NEARLY_ALL_MS,
  openControlDesk,
  PUBLIC_URL,
  passTime,
} from '../../support/control-desk.ts';

const url = `${PUBLIC_URL}/webhooks/a`;

/** A desk at which ref `a` was created and deleted: its keys are still live. */
async function deskWithRetired(options: Parameters<typeof openControlDesk>[0] = {}) {
  const desk = await openControlDesk(options);
  await desk.run(create('a'));
  const secrets = desk.secretsOf('a');
  await desk.run({ type: 'subscription.delete', ref: 'a' });
  const retired = desk.state.get('a') ?? expect.fail('no record');
  return { desk, secrets, retired, [Symbol.asyncDispose]: () => desk[Symbol.asyncDispose]() };
}

describe('a creation', () => {
  it('stores its intent, then what can be verified', async () => {
    await using desk = await openControlDesk();
    const result = await desk.run(
      create('a', { commandId: 'c-1', events: ['payment_status', 'payment-status'] }),
    );
    const [kept] = await desk.subscriptions();
    expect(result).toMatchObject({
      status: 'SUCCEEDED',
      subscriptionId: kept?.id,
      httpStatus: 201,
      attempts: 2,
    });
    expect(kept).toMatchObject({ url, events: ['payment-status'] });
    expect(desk.written.map((record) => [record?.state, record?.subscriptionId])).toEqual([
      ['REQUESTED', null],
      ['ACTIVE', kept?.id],
    ]);
    expect(desk.state.get('a')).toMatchObject({
      ...{
        ref: 'a',
        receiverUrl: url,
        events: ['payment-status'],
        owner: 'payments.commands',
        commandId: 'c-1',
      },
    });
    const { signingSecret, encryptionKey } = kept ?? {};
    expect(desk.secretsOf('a')).toEqual({ signingSecret, encryptionKey });
  });

  it('takes the encryption key of SECRETS_DIR, where there is one', async () => {
    await using desk = await openControlDesk();
    desk.world.secrets('a', { 'encryption-key': 'k'.repeat(32) });
    await desk.run(create('a'));
    expect(await desk.subscriptions()).toMatchObject([{ encryptionKey: 'k'.repeat(32) }]);
  });

  it.each([
    ['names a signing secret of the wrong length', 'signing-secret', 'short'],
    ['names an encryption key of the wrong length', 'encryption-key', 'short'],
  ] as const)('is REJECTED before any call where SECRETS_DIR %s', async (_, name, text) => {
    await using desk = await openControlDesk();
    desk.world.secrets('a', { [name]: text });
    const result = await desk.run(create('a'));
    expect(result).toMatchObject({ status: 'REJECTED', errorCode: 'KEYS_INVALID', attempts: 0 });
    expect(result.message).toContain(`a/${name}: a line has 5 characters`);
    expect(desk.written).toEqual([]);
  });

  it('whose files can not be read does not hold its partition up', async () => {
    await using desk = await openControlDesk();
    mkdirSync(join(desk.world.dir, 'secrets', 'a', 'encryption-key'), { recursive: true });
    expect(await desk.run(create('a'))).toMatchObject({ status: 'REJECTED', errorCode: 'KEYS_INVALID' });
  });

  it('of a ref that has a subscription is REJECTED', async () => {
    await using desk = await openControlDesk();
    await desk.run(create('a'));
    expect(await desk.run(create('a'))).toMatchObject({ status: 'REJECTED', errorCode: 'REF_IN_USE' });
  });

  it.each([
    { kind: 'drop-after' },
    { kind: 'status', code: 500, effect: true },
    { kind: 'truncated-body' },
    { kind: 'html-200', effect: true },
  ])(
    'looks before it asks again, where %j has taken the answer: one is left, the one of the state',
    async (fault) => {
      await using desk = await openControlDesk();
      await desk.sandbox.fail({ operation: 'create', ...fault });
      const result = await desk.run(create('a'));
      const there = await desk.subscriptions();
      expect(there.map(({ id }) => id)).toEqual([result.subscriptionId]);
      expect(result).toMatchObject({ status: 'SUCCEEDED', attempts: 5 });
      expect(desk.state.get('a')).toMatchObject({ state: 'ACTIVE', subscriptionId: result.subscriptionId });
      expect(desk.secretsOf('a')).toMatchObject({ signingSecret: there[0]?.signingSecret });
    },
  );

  it('may find its secret in SECRETS_DIR where the answer has none', async () => {
    await using desk = await openControlDesk();
    desk.world.secrets('a', { 'signing-secret': 's'.repeat(36) });
    await desk.sandbox.fail({ operation: 'create', kind: 'alter', remove: ['/signingSecret'] });
    expect(await desk.run(create('a'))).toMatchObject({ status: 'SUCCEEDED' });
    expect(desk.secretsOf('a')).toEqual({ encryptionKey: expect.any(String) });
  });
});

describe('a creation that comes to nothing', () => {
  const refusals = [
    ['is refused', { operation: 'create', kind: 'status', code: 422 }, 'PROVIDER_REFUSED', 422],
    ['finds no such operation', { operation: 'create', kind: 'status', code: 404 }, 'PROVIDER_REFUSED', 404],
    [
      'is not authorised',
      { operation: 'create', kind: 'status', code: 401, times: 2 },
      'PROVIDER_REFUSED',
      401,
    ],
    ['is redirected', { operation: 'create', kind: 'redirect', code: 307 }, 'PROVIDER_REFUSED', 307],
    [
      'is redirected after its effect',
      { operation: 'create', kind: 'redirect', code: 303, effect: true },
      'PROVIDER_REFUSED',
      303,
    ],
  ] as const;

  it.each(refusals)('as it %s leaves nothing, at neither end', async (_, fault, errorCode, httpStatus) => {
    await using desk = await openControlDesk();
    await desk.sandbox.fail(fault);
    expect(await desk.run(create('a'))).toMatchObject({ status: 'FAILED', errorCode, httpStatus });
    expect([desk.state.size, await desk.subscriptions()]).toEqual([0, []]);
  });

  it.each(refusals)('as it %s leaves the keys of the deleted one that was there', async (_, fault) => {
    await using the = await deskWithRetired();
    await the.desk.sandbox.fail(fault);
    expect(await the.desk.run(create('a'))).toMatchObject({ status: 'FAILED' });
    expect(the.desk.state.get('a')).toEqual(the.retired);
  });

  it('after a crash over its intent leaves the keys of the deleted one, too', async () => {
    await using the = await deskWithRetired();
    const { desk, retired, secrets } = the;
    const record = desk.recordOf({ commandId: 'c-2', ...create('a') });
    desk.hooks.onWrite = () => {
      if (desk.state.get('a')?.state === 'REQUESTED') throw killed();
    };
    await expect(desk.take(record)).rejects.toMatchObject({ code: 'PUBLISHER_CLOSED' });
    expect(desk.state.get('a')).toMatchObject({ state: 'REQUESTED' });
    delete desk.hooks.onWrite;
    await desk.sandbox.fail({ operation: 'create', kind: 'status', code: 422 });
    await desk.take(record);
    expect(desk.results.at(-1)).toMatchObject({ status: 'FAILED', errorCode: 'PROVIDER_REFUSED' });
    expect(desk.state.get('a')).toMatchObject({
      state: 'RETIRED',
      subscriptionId: retired.subscriptionId,
      updatedAt: retired.updatedAt,
    });
    expect(desk.secretsOf('a')).toEqual(secrets);
    expect(await desk.subscriptions()).toEqual([]);
  });

  it('over an intent that carried several deleted ones leaves all of them', async () => {
    await using the = await deskWithRetired();
    const { desk, secrets: first, retired } = the;
    await desk.run(create('a'));
    const second = desk.secretsOf('a');
    await desk.run({ type: 'subscription.delete', ref: 'a' });
    const both = desk.secretsOf('a');
    expect(both).toMatchObject({
      ...second,
      previous: [{ ...first, subscriptionId: retired.subscriptionId }],
    });
    await desk.sandbox.fail(
      { operation: 'create', kind: 'drop-before', times: null },
      { operation: 'list', kind: 'status', code: 200, body: [] },
      { operation: 'list', kind: 'status', code: 403, times: null },
    );
    expect(await desk.run(create('a'))).toMatchObject({ status: 'FAILED' });
    expect(desk.state.get('a')).toMatchObject({ state: 'REQUESTED' });
    await desk.sandbox.fail();
    await desk.run({ type: 'subscription.delete', ref: 'a' });
    expect(desk.state.get('a')).toMatchObject({ state: 'RETIRED' });
    expect(desk.secretsOf('a')).toEqual(both);
  });

  it('is not made twice by an empty list after a lost answer, while others are active', async () => {
    await using desk = await openControlDesk();
    await desk.run(create('other'));
    await desk.sandbox.fail(
      { operation: 'create', kind: 'drop-after' },
      { operation: 'list', kind: 'status', code: 200, body: [], times: 4 },
    );
    const ended = await desk.run(create('a'));
    expect(ended).toMatchObject({ status: 'FAILED', errorCode: 'PROVIDER_ANSWER_INVALID' });
    expect(desk.state.get('a')).toMatchObject({ state: 'REQUESTED' });
    await desk.sandbox.fail();
    expect(await desk.run(create('a'))).toMatchObject({ status: 'SUCCEEDED' });
    const at = (await desk.subscriptions()).filter(({ url }) => url.endsWith('/webhooks/a'));
    expect(at.map(({ id }) => id)).toEqual([desk.state.get('a')?.subscriptionId]);
  });

  it('as no answer can be verified removes what the last one has left', async () => {
    await using desk = await openControlDesk();
    await desk.sandbox.fail({ operation: 'create', kind: 'alter', set: { '/id': 'short' }, times: null });
    expect(await desk.run(create('a'))).toMatchObject({
      status: 'FAILED',
      errorCode: 'PROVIDER_ANSWER_INVALID',
    });
    expect([desk.state.size, await desk.subscriptions()]).toEqual([0, []]);
    expect(await desk.provider.logged('create')).toHaveLength(3);
  });

  it('as there is no token leaves nothing', async () => {
    await using desk = await openControlDesk();
    await desk.provider.api.list();
    await desk.sandbox.call('POST', '/_sandbox/tokens/revoke');
    await desk.sandbox.fail(
      { operation: 'list', kind: 'status', code: 200, body: [] },
      { operation: 'token', kind: 'status', code: 400, times: null },
    );
    expect(await desk.run(create('a'))).toMatchObject({ status: 'FAILED', errorCode: 'TOKEN_REFUSED' });
    expect(desk.state.size).toBe(0);
  });
});

describe('a creation whose time is up', () => {
  it('looks a last time: what its lost answer has left is removed', async () => {
    await using desk = await openControlDesk();
    passTime(desk, 'POST', NEARLY_ALL_MS);
    await desk.sandbox.fail({ operation: 'create', kind: 'drop-after' });
    const result = await desk.run(create('a'));
    expect(result).toMatchObject({ status: 'FAILED', errorCode: 'PROVIDER_UNAVAILABLE' });
    expect([desk.state.size, await desk.subscriptions()]).toEqual([0, []]);
  });

  it('keeps its intent where it can not look: the next command for the ref does', async () => {
    await using desk = await openControlDesk();
    passTime(desk, 'POST', NEARLY_ALL_MS);
    await desk.sandbox.fail(
      { operation: 'list', kind: 'status', code: 200, body: [] },
      { operation: 'create', kind: 'drop-after' },
      { operation: 'list', kind: 'status', code: 503, headers: { 'Retry-After': '60' } },
    );
    expect(await desk.run(create('a'))).toMatchObject({
      status: 'FAILED',
      errorCode: 'PROVIDER_UNAVAILABLE',
    });
    const [orphan] = await desk.subscriptions();
    expect(desk.state.get('a')).toMatchObject({ state: 'REQUESTED' });
    expect(await desk.run(create('a'))).toMatchObject({ status: 'SUCCEEDED' });
    const left = await desk.subscriptions();
    expect(left).toHaveLength(1);
    expect(left[0]?.id).not.toBe(orphan?.id);
    expect(left[0]?.encryptionKey).toBe(orphan?.encryptionKey);
  });

  it('as it never got through leaves nothing', async () => {
    await using desk = await openControlDesk();
    passTime(desk, 'POST', NEARLY_ALL_MS);
    await desk.sandbox.fail({ operation: 'create', kind: 'status', code: 429 });
    expect(await desk.run(create('a'))).toMatchObject({ status: 'FAILED', httpStatus: 429 });
    expect(desk.state.size).toBe(0);
  });
});

describe('a creation that its deadline ends in the middle', () => {
  it('while the call hangs keeps its intent, as the effect may still come; the next command finds what is there', async () => {
    await using desk = await openControlDesk({ deadlineMs: 1_000 });
    await desk.sandbox.fail({ operation: 'create', kind: 'hang', effect: true });
    expect(await desk.run(create('a'))).toMatchObject({
      status: 'FAILED',
      errorCode: 'PROVIDER_UNAVAILABLE',
      message: expect.stringContaining('time-out'),
    });
    expect(desk.state.get('a')).toMatchObject({ state: 'REQUESTED', subscriptionId: null });
    Object.assign(desk.parts, { commandDeadlineMs: 60_000 });
    expect(await desk.run(create('a'))).toMatchObject({ status: 'SUCCEEDED' });
    const [one, ...more] = await desk.subscriptions();
    expect([one?.id, more]).toEqual([desk.state.get('a')?.subscriptionId, []]);
  });

  it('while its state can not be stored has FAILED in time, and the intent stays', async () => {
    await using desk = await openControlDesk({ deadlineMs: 1_000 });
    const { records } = desk.parts;
    const storeSubscription: typeof records.storeSubscription = async (ref, record, lease) => {
      if (record?.state !== 'ACTIVE') return records.storeSubscription(ref, record, lease);
      // As the writer does while Kafka is unavailable: for as long as it may.
      await new Promise((resolve) => lease.signal.addEventListener('abort', resolve));
      lease.signal.throwIfAborted();
    };
    Object.assign(desk.parts, { records: { ...records, storeSubscription } });
    expect(await desk.run(create('a'))).toMatchObject({ status: 'FAILED', errorCode: 'COMMAND_TIMED_OUT' });
    expect(desk.state.get('a')).toMatchObject({ state: 'REQUESTED' });
    Object.assign(desk.parts, { records, commandDeadlineMs: 60_000 });
    expect(await desk.run(create('a'))).toMatchObject({ status: 'SUCCEEDED' });
    expect(await desk.subscriptions()).toHaveLength(1);
  });

  it('while it waits for a token has FAILED in time, and leaves nothing', async () => {
    await using desk = await openControlDesk({ deadlineMs: 1_000 });
    await desk.sandbox.fail({ operation: 'token', kind: 'hang' });
    expect(await desk.run(create('a'))).toMatchObject({
      status: 'FAILED',
      errorCode: 'PROVIDER_UNAVAILABLE',
      message: expect.stringContaining('no access token came in time'),
    });
    expect(desk.state.size).toBe(0);
  });
});

describe('the address of a ref', () => {
  it('that a foreign subscription has is left alone', async () => {
    await using desk = await openControlDesk();
    const { id } = await desk.seed({ url });
    expect(await desk.run(create('a'))).toMatchObject({ status: 'REJECTED', errorCode: 'URL_IN_USE' });
    expect((await desk.subscriptions()).map((one) => one.id)).toEqual([id]);
    expect(desk.written).toEqual([]);
  });

  it('is not clear where the list has another shape than the dialect says: nothing is created blindly', async () => {
    await using desk = await openControlDesk();
    await desk.sandbox.fail({ operation: 'list', kind: 'status', code: 200, body: { items: [] } });
    const result = await desk.run(create('a'));
    expect(result).toMatchObject({ status: 'FAILED', errorCode: 'PROVIDER_ANSWER_INVALID' });
    expect(await desk.subscriptions()).toEqual([]);
  });

  it('of a ref that is like the beginning of another one is its own', async () => {
    await using desk = await openControlDesk();
    await desk.run(create('a-b'));
    expect(await desk.run(create('a'))).toMatchObject({ status: 'SUCCEEDED' });
    expect(await desk.subscriptions()).toHaveLength(2);
  });
});
