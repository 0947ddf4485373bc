import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { SealingKeys } from '../../../src/crypto/sealing.ts';
import type { ProviderCall } from '../../../src/provider/call-provider.ts';
import { openSecrets } from '../../../src/subscriptions/subscription-record.ts';
import { createInPart } from '../../support/adoptions.ts';
import {
  type ControlHarness,
  create,
  NEARLY_ALL_MS,
  openControlHarness,
  PUBLIC_URL,
  passTime,
} from '../../support/control-harness.ts';
import { sealingKeysOf } from '../../support/spool-scene.ts';

const url = `${PUBLIC_URL}/webhooks/a`;

/** A harness at which ref `a` was created and deleted: its keys are still live. */
async function harnessWithRetired(options: Parameters<typeof openControlHarness>[0] = {}) {
  const harness = await openControlHarness(options);
  await harness.run(create('a'));
  const secrets = harness.secretsOf('a');
  await harness.run({ type: 'subscription.delete', ref: 'a' });
  const retired = harness.state.get('a') ?? expect.fail('no record');
  return { harness, secrets, retired, [Symbol.asyncDispose]: () => harness[Symbol.asyncDispose]() };
}

describe('a creation', () => {
  it('stores its intent, then what can be verified', async () => {
    await using harness = await openControlHarness();
    const result = await harness.run(
      create('a', { commandId: 'c-1', events: ['payment_status', 'payment-status'] }),
    );
    const [kept] = await harness.subscriptions();
    expect(result).toMatchObject({
      status: 'SUCCEEDED',
      subscriptionId: kept?.id,
      httpStatus: 201,
      attempts: 2,
    });
    expect(kept).toMatchObject({ url, events: ['payment-status'] });
    expect(harness.written.map((record) => [record?.state, record?.subscriptionId])).toEqual([
      ['REQUESTED', null],
      ['ACTIVE', kept?.id],
    ]);
    expect(harness.state.get('a')).toMatchObject({
      ref: 'a',
      receiverUrl: url,
      events: ['payment-status'],
      owner: 'payments.commands',
      commandId: 'c-1',
    });
    const { signingSecret, encryptionKey } = kept ?? {};
    expect(harness.secretsOf('a')).toEqual({ signingSecret, encryptionKey });
  });

  it('without events says so where the provider refuses it, and before', async () => {
    await using harness = await openControlHarness();
    const { events: _, ...bare } = create('a') as { events?: unknown };
    const dry = await harness.run({ ...bare, dryRun: true });
    expect(dry).toMatchObject({
      status: 'SUCCEEDED',
      message: expect.stringMatching(/, without events: the provider may refuse that$/),
    });
    const result = await harness.run(bare);
    expect(result).toMatchObject({ status: 'FAILED', errorCode: 'PROVIDER_REFUSED' });
    expect(result.message).toMatch(/answered 400; the command names no events\)/);
    expect((await harness.run({ ...create('a'), dryRun: true })).message).toMatch(/\/webhooks\/a$/);
  });

  it('takes the encryption key of SECRETS_DIR, where there is one', async () => {
    await using harness = await openControlHarness();
    harness.fixture.secrets('a', { 'encryption-key': 'k'.repeat(32) });
    await harness.run(create('a'));
    expect(await harness.subscriptions()).toMatchObject([{ encryptionKey: 'k'.repeat(32) }]);
  });

  it.each([
    ['names a signing secret of the wrong length', 'signing-secret', 'short'],
    ['names an encryption key of the wrong length', 'encryption-key', 'short'],
  ] as const)('is REJECTED before any call where SECRETS_DIR %s', async (_, name, text) => {
    await using harness = await openControlHarness();
    harness.fixture.secrets('a', { [name]: text });
    const result = await harness.run(create('a'));
    expect(result).toMatchObject({ status: 'REJECTED', errorCode: 'KEYS_INVALID', attempts: 0 });
    expect(result.message).toContain(`a/${name}: a line has 5 characters`);
    expect(harness.written).toEqual([]);
  });

  it.each([
    ['a creation', {}],
    ['a creation anew', { ifMatch: 'c-0' }],
    ['a dry run', { dryRun: true }],
  ])(
    'is REJECTED where its webhooks would be refused, as files of another subscription come first: %s',
    async (_, more) => {
      await using harness = await openControlHarness();
      await harness.run(create('beside'));
      if ('ifMatch' in more) {
        await harness.run(create('a', { commandId: 'c-0' }));
        const { subscriptionId } = harness.state.get('a') ?? {};
        await harness.sandbox.call('DELETE', `/_sandbox/subscriptions/${subscriptionId}`);
      }
      harness.fixture.secrets('a', { 'subscription-id': 'i'.repeat(36), 'signing-secret': 's'.repeat(36) });
      const before = harness.state.get('a');
      const result = await harness.run(create('a', more));
      expect(result).toMatchObject({ status: 'REJECTED', errorCode: 'KEYS_INVALID' });
      expect(result.message).toContain('a/subscription-id: webhooks of a new subscription would be refused');
      expect([harness.state.get('a'), await harness.subscriptions()]).toMatchObject([before, [{}]]);
      harness.fixture.secrets('a', { 'subscription-id': '', 'signing-secret': '' });
      expect(await harness.run(create('a', more))).toMatchObject({ status: 'SUCCEEDED' });
    },
  );

  it('whose files can not be read does not hold its partition up', async () => {
    await using harness = await openControlHarness();
    mkdirSync(join(harness.fixture.dir, 'secrets', 'a', 'encryption-key'), { recursive: true });
    expect(await harness.run(create('a'))).toMatchObject({ status: 'REJECTED', errorCode: 'KEYS_INVALID' });
  });

  it('removes what an earlier call of its own makes late', async () => {
    await using harness = await openControlHarness();
    const { call } = harness.parts;
    let posts = 0;
    const late: ProviderCall = async (request) => {
      const isCreation = request.method === 'POST' && request.path === '/subscriptions';
      if (isCreation && ++posts === 1)
        return { judgement: 'unknown', status: 502, body: undefined, why: '502', retryAfterMs: null };
      const outcome = await call(request);
      if (isCreation) await harness.seed({ url: `${PUBLIC_URL}/webhooks/a` });
      return outcome;
    };
    Object.assign(harness.parts, { call: late });
    const result = await harness.run(create('a'));
    expect([result.status, posts]).toEqual(['SUCCEEDED', 2]);
    expect((await harness.subscriptions()).map(({ id }) => id)).toEqual([result.subscriptionId]);
  });

  it('whose call a gateway gave up stays an intent, whatever the later ones are answered', async () => {
    await using harness = await openControlHarness();
    await harness.sandbox.fail(
      { operation: 'create', kind: 'status', code: 504 },
      { operation: 'create', kind: 'status', code: 403 },
    );
    expect(await harness.run(create('a'))).toMatchObject({ status: 'FAILED', errorCode: 'PROVIDER_REFUSED' });
    expect(harness.state.get('a')).toMatchObject({ state: 'REQUESTED' });
    await harness.seed({ url: `${PUBLIC_URL}/webhooks/a` });
    const result = await harness.run(create('a'));
    expect((await harness.subscriptions()).map(({ id }) => id)).toEqual([result.subscriptionId]);
  });

  it('of a ref that has a subscription is REJECTED', async () => {
    await using harness = await openControlHarness();
    await harness.run(create('a'));
    expect(await harness.run(create('a'))).toMatchObject({ status: 'REJECTED', errorCode: 'REF_IN_USE' });
  });

  it.each([
    { kind: 'drop-after' },
    { kind: 'status', code: 500, effect: true },
    { kind: 'truncated-body' },
    { kind: 'html-200', effect: true },
  ])(
    'looks before it asks again, where %j has taken the answer: one is left, the one of the state',
    async (fault) => {
      await using harness = await openControlHarness();
      await harness.sandbox.fail({ operation: 'create', ...fault });
      const result = await harness.run(create('a'));
      const there = await harness.subscriptions();
      expect(there.map(({ id }) => id)).toEqual([result.subscriptionId]);
      expect(result).toMatchObject({ status: 'SUCCEEDED', attempts: 6 });
      expect(harness.state.get('a')).toMatchObject({
        state: 'ACTIVE',
        subscriptionId: result.subscriptionId,
      });
      expect(harness.secretsOf('a')).toMatchObject({ signingSecret: there[0]?.signingSecret });
    },
  );

  it('may find its secret in SECRETS_DIR where the answer has none', async () => {
    await using harness = await openControlHarness();
    harness.fixture.secrets('a', { 'signing-secret': 's'.repeat(36) });
    await harness.sandbox.fail({ operation: 'create', kind: 'alter', remove: ['/signingSecret'] });
    expect(await harness.run(create('a'))).toMatchObject({ status: 'SUCCEEDED' });
    expect(harness.secretsOf('a')).toEqual({ encryptionKey: expect.any(String) });
  });
});

describe('a creation that comes to nothing', () => {
  it('counts the request whose token was not taken, and the one with a fresh token', async () => {
    await using harness = await openControlHarness();
    await harness.sandbox.fail({ operation: 'create', kind: 'status', code: 401, times: 2 });
    // The list of what exists, and the creation twice.
    expect(await harness.run(create('a'))).toMatchObject({ status: 'FAILED', httpStatus: 401, attempts: 3 });
  });

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
    await using harness = await openControlHarness();
    await harness.sandbox.fail(fault);
    expect(await harness.run(create('a'))).toMatchObject({ status: 'FAILED', errorCode, httpStatus });
    expect([harness.state.size, await harness.subscriptions()]).toEqual([0, []]);
  });

  it.each(refusals)('as it %s leaves the keys of the deleted one that was there', async (_, fault) => {
    await using the = await harnessWithRetired();
    await the.harness.sandbox.fail(fault);
    expect(await the.harness.run(create('a'))).toMatchObject({ status: 'FAILED' });
    // Its keys are sealed anew.
    expect(the.harness.state.get('a')).toEqual({ ...the.retired, sealedKeys: expect.anything() });
    expect(the.harness.secretsOf('a')).toEqual(the.secrets);
  });

  it('after a crash over its intent leaves the keys of the deleted one, too', async () => {
    await using the = await harnessWithRetired();
    const { harness, retired, secrets } = the;
    const record = await createInPart(harness);
    expect(harness.state.get('a')).toMatchObject({ state: 'REQUESTED' });
    await harness.sandbox.fail({ operation: 'create', kind: 'status', code: 422 });
    await harness.take(record);
    expect(harness.results.at(-1)).toMatchObject({ status: 'FAILED', errorCode: 'PROVIDER_REFUSED' });
    expect(harness.state.get('a')).toMatchObject({
      ...retired,
      sealedKeys: expect.anything(),
    });
    expect(harness.secretsOf('a')).toEqual(secrets);
    expect(await harness.subscriptions()).toEqual([]);
    // What was decided before the creation came to nothing is not out of date.
    const next = { ...create('a'), ifMatch: retired.commandId };
    expect(await harness.run(next)).toMatchObject({ status: 'SUCCEEDED' });
  });

  it('after a change of the sealing key leaves the keys of the deleted one under the new one', async () => {
    await using the = await harnessWithRetired();
    const { harness, retired, secrets } = the;
    const old = harness.parts.sealingKeys;
    const renewed = sealingKeysOf('b');
    const use = (sealingKeys: SealingKeys) => Object.assign(harness.parts, { sealingKeys });
    use({ current: renewed.current, all: [...renewed.all, ...old.all] });
    const record = await createInPart(harness);
    use(renewed);
    await harness.sandbox.fail({ operation: 'create', kind: 'status', code: 422 });
    await harness.take(record);
    const after = harness.state.get('a') ?? expect.fail('no record');
    expect(after).toMatchObject({ ...retired, sealedKeys: expect.anything() });
    expect(openSecrets(renewed, after, after.sealedKeys as Buffer)).toEqual(secrets);
  });

  it.each(['subscription.create', 'subscription.delete'])(
    'and whose intent is of an older version leaves the keys of the deleted one: %s',
    async (type) => {
      await using the = await harnessWithRetired();
      const { harness, retired, secrets } = the;
      const record = await createInPart(harness);
      const intent = harness.state.get('a') ?? expect.fail('no record');
      harness.state.set('a', { ...intent, replaced: null });
      await harness.sandbox.fail({ operation: 'create', kind: 'status', code: 422 });
      if (type === 'subscription.create') await harness.take(record);
      else await harness.run({ type, ref: 'a' });
      const { subscriptionId, updatedAt } = retired;
      expect(harness.state.get('a')).toMatchObject({ state: 'RETIRED', subscriptionId, updatedAt });
      expect(harness.secretsOf('a')).toEqual(secrets);
    },
  );

  it('over an intent that carried several deleted ones leaves all of them', async () => {
    await using the = await harnessWithRetired();
    const { harness, secrets: first, retired } = the;
    await harness.run(create('a'));
    const second = harness.secretsOf('a');
    await harness.run({ type: 'subscription.delete', ref: 'a' });
    const both = harness.secretsOf('a');
    expect(both).toMatchObject({
      ...second,
      previous: [{ ...first, subscriptionId: retired.subscriptionId }],
    });
    await harness.sandbox.fail(
      { operation: 'create', kind: 'drop-before', times: null },
      { operation: 'list', kind: 'status', code: 200, body: [] },
      { operation: 'list', kind: 'status', code: 403, times: null },
    );
    expect(await harness.run(create('a'))).toMatchObject({ status: 'FAILED' });
    expect(harness.state.get('a')).toMatchObject({ state: 'REQUESTED' });
    await harness.sandbox.fail();
    await harness.run({ type: 'subscription.delete', ref: 'a' });
    expect(harness.state.get('a')).toMatchObject({ state: 'RETIRED' });
    expect(harness.secretsOf('a')).toEqual(both);
  });

  it('is not made twice by an empty list after a lost answer, while others are active', async () => {
    await using harness = await openControlHarness();
    await harness.run(create('other'));
    await harness.sandbox.fail(
      { operation: 'create', kind: 'drop-after' },
      { operation: 'list', kind: 'status', code: 200, body: [], times: 4 },
    );
    const ended = await harness.run(create('a'));
    expect(ended).toMatchObject({ status: 'FAILED', errorCode: 'PROVIDER_ANSWER_INVALID' });
    expect(harness.state.get('a')).toMatchObject({ state: 'REQUESTED' });
    await harness.sandbox.fail();
    expect(await harness.run(create('a'))).toMatchObject({ status: 'SUCCEEDED' });
    const at = (await harness.subscriptions()).filter(({ url }) => url.endsWith('/webhooks/a'));
    expect(at.map(({ id }) => id)).toEqual([harness.state.get('a')?.subscriptionId]);
  });

  it('as no answer can be verified removes what the last one has left', async () => {
    await using harness = await openControlHarness();
    await harness.sandbox.fail({ operation: 'create', kind: 'alter', set: { '/id': 'short' }, times: null });
    expect(await harness.run(create('a'))).toMatchObject({
      status: 'FAILED',
      errorCode: 'PROVIDER_ANSWER_INVALID',
    });
    expect([harness.state.size, await harness.subscriptions()]).toEqual([0, []]);
    expect(await harness.provider.logged('create')).toHaveLength(3);
  });

  it('as there is no token leaves nothing', async () => {
    await using harness = await openControlHarness();
    await harness.provider.api.list();
    await harness.sandbox.call('POST', '/_sandbox/tokens/revoke');
    await harness.sandbox.fail(
      { operation: 'list', kind: 'status', code: 200, body: [] },
      { operation: 'token', kind: 'status', code: 400, times: null },
    );
    expect(await harness.run(create('a'))).toMatchObject({ status: 'FAILED', errorCode: 'TOKEN_REFUSED' });
    expect(harness.state.size).toBe(0);
  });
});

describe('a creation whose time is up', () => {
  it('looks a last time: what its lost answer has left is removed', async () => {
    await using harness = await openControlHarness();
    passTime(harness, 'POST', NEARLY_ALL_MS);
    await harness.sandbox.fail({ operation: 'create', kind: 'drop-after' });
    const result = await harness.run(create('a'));
    expect(result).toMatchObject({ status: 'FAILED', errorCode: 'PROVIDER_UNAVAILABLE' });
    expect([harness.state.size, await harness.subscriptions()]).toEqual([0, []]);
  });

  it('keeps its intent where it can not look: the next command for the ref does', async () => {
    await using harness = await openControlHarness();
    passTime(harness, 'POST', NEARLY_ALL_MS);
    await harness.sandbox.fail(
      { operation: 'list', kind: 'status', code: 200, body: [] },
      { operation: 'create', kind: 'drop-after' },
      { operation: 'list', kind: 'status', code: 503, headers: { 'Retry-After': '60' } },
    );
    expect(await harness.run(create('a'))).toMatchObject({
      status: 'FAILED',
      errorCode: 'PROVIDER_UNAVAILABLE',
    });
    const [orphan] = await harness.subscriptions();
    expect(harness.state.get('a')).toMatchObject({ state: 'REQUESTED' });
    expect(await harness.run(create('a'))).toMatchObject({ status: 'SUCCEEDED' });
    const left = await harness.subscriptions();
    expect(left).toHaveLength(1);
    expect(left[0]?.id).not.toBe(orphan?.id);
    expect(left[0]?.encryptionKey).toBe(orphan?.encryptionKey);
  });

  it('as it never got through leaves nothing', async () => {
    await using harness = await openControlHarness();
    passTime(harness, 'POST', NEARLY_ALL_MS);
    await harness.sandbox.fail({ operation: 'create', kind: 'status', code: 429 });
    expect(await harness.run(create('a'))).toMatchObject({ status: 'FAILED', httpStatus: 429 });
    expect(harness.state.size).toBe(0);
  });
});

describe('a creation that its deadline ends in the middle', () => {
  it('while the call hangs keeps its intent, as the effect may still come; the next command finds what is there', async () => {
    await using harness = await openControlHarness({ deadlineMs: 1_000 });
    await harness.sandbox.fail({ operation: 'create', kind: 'hang', effect: true });
    expect(await harness.run(create('a'))).toMatchObject({
      status: 'FAILED',
      errorCode: 'PROVIDER_UNAVAILABLE',
      message: expect.stringContaining('time-out'),
    });
    expect(harness.state.get('a')).toMatchObject({ state: 'REQUESTED', subscriptionId: null });
    Object.assign(harness.parts, { commandDeadlineMs: 60_000 });
    expect(await harness.run(create('a'))).toMatchObject({ status: 'SUCCEEDED' });
    const [one, ...more] = await harness.subscriptions();
    expect([one?.id, more]).toEqual([harness.state.get('a')?.subscriptionId, []]);
  });

  it('while its state can not be stored has FAILED in time, and the intent stays', async () => {
    await using harness = await openControlHarness({ deadlineMs: 1_000 });
    const { records } = harness.parts;
    const storeSubscription: typeof records.storeSubscription = async (ref, record, lease) => {
      if (record?.state !== 'ACTIVE') return records.storeSubscription(ref, record, lease);
      // As the writer does while Kafka is unavailable: for as long as it may.
      await new Promise((resolve) => lease.signal.addEventListener('abort', resolve));
      lease.signal.throwIfAborted();
    };
    Object.assign(harness.parts, { records: { ...records, storeSubscription } });
    expect(await harness.run(create('a'))).toMatchObject({
      status: 'FAILED',
      errorCode: 'COMMAND_TIMED_OUT',
    });
    expect(harness.state.get('a')).toMatchObject({ state: 'REQUESTED' });
    Object.assign(harness.parts, { records, commandDeadlineMs: 60_000 });
    expect(await harness.run(create('a'))).toMatchObject({ status: 'SUCCEEDED' });
    expect(await harness.subscriptions()).toHaveLength(1);
  });

  it('while it waits for a token has FAILED in time, and leaves nothing', async () => {
    await using harness = await openControlHarness({ deadlineMs: 1_000 });
    await harness.sandbox.fail({ operation: 'token', kind: 'hang' });
    expect(await harness.run(create('a'))).toMatchObject({
      status: 'FAILED',
      errorCode: 'PROVIDER_UNAVAILABLE',
      message: expect.stringContaining('no access token came in time'),
    });
    expect(harness.state.size).toBe(0);
  });
});

describe('the address of a ref', () => {
  it('that a foreign subscription has is left alone', async () => {
    await using harness = await openControlHarness();
    const { id } = await harness.seed({ url });
    expect(await harness.run(create('a'))).toMatchObject({ status: 'REJECTED', errorCode: 'URL_IN_USE' });
    expect((await harness.subscriptions()).map((one) => one.id)).toEqual([id]);
    expect(harness.written).toEqual([]);
  });

  it('is not clear where the list has another shape than the dialect says: nothing is created blindly', async () => {
    await using harness = await openControlHarness();
    await harness.sandbox.fail({ operation: 'list', kind: 'status', code: 200, body: { items: [] } });
    const result = await harness.run(create('a'));
    expect(result).toMatchObject({ status: 'FAILED', errorCode: 'PROVIDER_ANSWER_INVALID' });
    expect(await harness.subscriptions()).toEqual([]);
  });

  it('of a ref that is like the beginning of another one is its own', async () => {
    await using harness = await openControlHarness();
    await harness.run(create('a-b'));
    expect(await harness.run(create('a'))).toMatchObject({ status: 'SUCCEEDED' });
    expect(await harness.subscriptions()).toHaveLength(2);
  });
});

describe('a creation where a file has the signing secret of an earlier subscription', () => {
  it('is REJECTED, and leaves nothing: files come first, and its webhooks would be refused', async () => {
    await using harness = await openControlHarness();
    harness.fixture.secrets('a', { 'signing-secret': 's'.repeat(36) });
    expect(await harness.run(create('a'))).toMatchObject({
      status: 'REJECTED',
      errorCode: 'KEYS_INVALID',
      message: expect.stringContaining('a/signing-secret'),
    });
    expect(await harness.subscriptions()).toEqual([]);
    expect(harness.state.get('a')).toBeUndefined();
  });

  it('has FAILED where what was created cannot be deleted: the next command deletes it', async () => {
    await using harness = await openControlHarness();
    harness.fixture.secrets('a', { 'signing-secret': 's'.repeat(36) });
    await harness.sandbox.fail({ operation: 'delete', kind: 'status', code: 400 });
    expect(await harness.run(create('a'))).toMatchObject({
      status: 'FAILED',
      errorCode: 'PROVIDER_UNAVAILABLE',
      message: expect.stringContaining('what was created could not be deleted'),
    });
    expect(await harness.subscriptions()).toHaveLength(1);
    expect(harness.state.get('a')).toMatchObject({ state: 'REQUESTED' });
    expect(await harness.run(create('a'))).toMatchObject({ status: 'REJECTED', errorCode: 'KEYS_INVALID' });
    expect(await harness.subscriptions()).toEqual([]);
  });

  it('anew leaves the ref as it was', async () => {
    await using harness = await openControlHarness();
    await harness.run(create('beside'));
    const { subscriptionId, commandId } = await harness.run(create('a', { commandId: 'c-1' }));
    // Rotated by its file.
    harness.fixture.secrets('a', { 'signing-secret': 's'.repeat(36) });
    await harness.sandbox.call('DELETE', `/_sandbox/subscriptions/${subscriptionId}`);
    expect(await harness.run(create('a', { ifMatch: commandId }))).toMatchObject({
      errorCode: 'KEYS_INVALID',
    });
    expect(harness.state.get('a')).toMatchObject({ state: 'ACTIVE', subscriptionId, commandId });
    expect(await harness.subscriptions()).toHaveLength(1);
  });
});

describe('a creation that is resumed after a crash, and whose files cannot be used since', () => {
  const FILES = [
    [
      'that are those of another subscription',
      { 'subscription-id': 'i'.repeat(36), 'signing-secret': 's'.repeat(36) },
    ],
    ['one of which is faulty', { 'encryption-key': 'short' }],
  ] as const;
  /** The intent is older than any call that a provider may still carry out. */
  const age = (harness: ControlHarness) => {
    const intent = harness.state.get('a') ?? expect.fail('no intent');
    harness.state.set('a', { ...intent, updatedAt: Date.now() - 3_600_000 });
  };
  const noFiles = { 'subscription-id': '', 'signing-secret': '', 'encryption-key': '' };

  it.each(FILES)('is REJECTED, and leaves nothing at the provider, with files %s', async (_, files) => {
    await using harness = await openControlHarness();
    const record = await createInPart(harness);
    expect(await harness.subscriptions()).toHaveLength(1);
    age(harness);
    harness.fixture.secrets('a', files);
    await harness.take(record);
    expect(harness.results.at(-1)).toMatchObject({ status: 'REJECTED', errorCode: 'KEYS_INVALID' });
    expect(await harness.subscriptions()).toEqual([]);
    expect(harness.state.get('a')).toBeUndefined();
  });

  it.each(FILES)(
    'does not claim that nothing is there while it may still come, with files %s',
    async (_, files) => {
      await using harness = await openControlHarness();
      const record = await createInPart(harness);
      harness.fixture.secrets('a', files);
      await harness.take(record);
      expect(harness.results.at(-1)).toMatchObject({
        status: 'FAILED',
        errorCode: 'PROVIDER_UNAVAILABLE',
        message: expect.stringMatching(/may have created a subscription.*SECRETS_DIR/),
      });
      // What is there already goes at once.
      expect(await harness.subscriptions()).toEqual([]);
      expect(harness.state.get('a')).toMatchObject({ state: 'REQUESTED' });
      // The call of the process that has crashed has its effect now.
      await harness.seed({ url });
      harness.fixture.secrets('a', noFiles);
      expect(await harness.run(create('a'))).toMatchObject({ status: 'SUCCEEDED' });
      expect(await harness.subscriptions()).toHaveLength(1);
    },
  );

  const NAMING = [
    ['beside its secret', {}],
    ['beside a faulty file', { 'encryption-key': 'short' }],
    ['in a file that is itself faulty', { 'subscription-id': ' \u0000\n' }],
  ] as const;
  it.each(NAMING)('deletes nothing that the files name, %s', async (_, more) => {
    await using harness = await openControlHarness();
    const record = await createInPart(harness);
    const [left = expect.fail('none')] = await harness.subscriptions();
    const files = { 'subscription-id': left.id, 'signing-secret': left.signingSecret };
    harness.fixture.secrets('a', { ...files, ...more });
    age(harness);
    const before = harness.state.get('a');
    const another = await harness.run(create('a', { commandId: 'c-2' }));
    expect(another).toMatchObject({ status: 'REJECTED', errorCode: 'KEYS_INVALID' });
    expect([await harness.subscriptions(), harness.state.get('a')]).toEqual([[left], before]);
    // The very command that has created it cannot say that nothing was changed.
    await harness.take(record);
    expect(harness.results.at(-1)).toMatchObject({
      status: 'FAILED',
      errorCode: 'PROVIDER_UNAVAILABLE',
      message: expect.stringMatching(/nothing more was deleted.*adopt it/),
    });
    expect([await harness.subscriptions(), harness.state.get('a')]).toEqual([[left], before]);
    harness.fixture.secrets('a', { ...files, 'encryption-key': '' });
    expect(await harness.run({ type: 'subscription.adopt', ref: 'a' })).toMatchObject({
      status: 'SUCCEEDED',
    });
  });

  it('does not claim that nothing is there where what is there cannot be deleted', async () => {
    await using harness = await openControlHarness();
    const record = await createInPart(harness);
    age(harness);
    harness.fixture.secrets('a', { 'encryption-key': 'short' });
    await harness.sandbox.fail({ operation: 'delete', kind: 'status', code: 400 });
    await harness.take(record);
    expect(harness.results.at(-1)).toMatchObject({ status: 'FAILED', errorCode: 'PROVIDER_UNAVAILABLE' });
    expect(harness.state.get('a')).toMatchObject({ state: 'REQUESTED' });
  });

  it('as a dry run changes nothing', async () => {
    await using harness = await openControlHarness();
    await createInPart(harness);
    const before = harness.state.get('a');
    harness.fixture.secrets('a', { 'encryption-key': 'short' });
    expect(await harness.run(create('a', { dryRun: true }))).toMatchObject({
      status: 'REJECTED',
      errorCode: 'KEYS_INVALID',
    });
    expect([harness.state.get('a'), await harness.subscriptions()]).toMatchObject([before, [{}]]);
  });
});

it.each([
  ['subscription.create', { status: 'REJECTED', errorCode: 'URL_IN_USE' }],
  ['subscription.delete', { status: 'SUCCEEDED' }],
])(
  'what another ref has at the address is not removed by a %s over an unfinished creation',
  async (type, end) => {
    await using harness = await openControlHarness();
    const { subscriptionId } = await harness.run(create('b'));
    await createInPart(harness);
    const one = (await harness.subscriptions()).find(({ id }) => id === subscriptionId);
    const json = { id: subscriptionId, signingSecret: one?.signingSecret, events: ['payment_status'], url };
    await harness.sandbox.call('POST', '/_sandbox/subscriptions', { json });
    expect(await harness.run({ type, ref: 'a' })).toMatchObject(end);
    expect((await harness.subscriptions()).map(({ id }) => id)).toContain(subscriptionId);
  },
);
