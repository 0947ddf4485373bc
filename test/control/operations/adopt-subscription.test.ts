import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { adopt, createInPart, deleteOne, seedKnown, url } from '../../support/adoptions.ts';
import { create, NEARLY_ALL_MS, openControlHarness, passTime } from '../../support/control-harness.ts';

describe('an adoption', () => {
  it('takes a subscription over: it delivers here, and has the events that it had', async () => {
    await using harness = await openControlHarness();
    const { id } = await seedKnown(harness, { events: ['accounts-entries'] });
    expect(await harness.run(adopt())).toMatchObject({ status: 'SUCCEEDED', subscriptionId: id });
    expect(await harness.subscriptions()).toMatchObject([{ id, url, events: ['accounts-entries'] }]);
    expect(harness.state.get('a')).toMatchObject({
      state: 'ACTIVE',
      subscriptionId: id,
      events: ['accounts-entries'],
    });
  });

  it('knows the subscription before it delivers here', async () => {
    await using harness = await openControlHarness();
    const { id } = await seedKnown(harness);
    const known: unknown[] = [];
    harness.hooks.onCall = ({ method }) => {
      if (method === 'PUT') known.push(harness.state.get('a')?.subscriptionId);
    };
    await harness.run(adopt());
    expect(known).toEqual([id]);
  });

  it('of one that delivers here already asks for no change', async () => {
    await using harness = await openControlHarness();
    await seedKnown(harness, { url });
    expect(await harness.run(adopt())).toMatchObject({ status: 'SUCCEEDED', attempts: 1 });
    expect(await harness.provider.logged('update')).toEqual([]);
  });

  it('takes extra along, also where nothing else is to be changed', async () => {
    await using harness = await openControlHarness({ dialect: '{"extra":{"allow":["label"]}}' });
    await seedKnown(harness, { url });
    expect(await harness.run(adopt({ extra: { label: 'ours' } }))).toMatchObject({ status: 'SUCCEEDED' });
    expect(await harness.subscriptions()).toMatchObject([{ url, extra: { label: 'ours' } }]);
  });

  it('can not be led elsewhere by extra', async () => {
    await using harness = await openControlHarness();
    const seeded = await seedKnown(harness);
    const evil = { url: 'https://evil.example/', events: [] };
    expect(await harness.run(adopt({ extra: evil }))).toMatchObject({
      status: 'REJECTED',
      errorCode: 'EXTRA_CONFLICT',
      message: expect.stringContaining('extra.url would set the address; extra.events would set the events'),
    });
    expect(await harness.subscriptions()).toMatchObject([{ url: seeded.url }]);
  });

  it('without the signing secret is REJECTED', async () => {
    await using harness = await openControlHarness();
    const { id } = await harness.seed();
    expect(await harness.run(adopt())).toMatchObject({ status: 'REJECTED', errorCode: 'KEYS_MISSING' });
    harness.fixture.secrets('a', { 'subscription-id': id, 'signing-secret': 'short' });
    expect(await harness.run(adopt())).toMatchObject({ status: 'REJECTED', errorCode: 'KEYS_INVALID' });
  });

  it('of an id that can be no part of a signing key has FAILED', async () => {
    await using harness = await openControlHarness();
    await harness.seed({ url });
    harness.fixture.secrets('a', { 'signing-secret': randomUUID() });
    await harness.sandbox.fail({ operation: 'list', kind: 'alter', set: { '/0/id': 'short' } });
    expect(await harness.run(adopt())).toMatchObject({
      status: 'FAILED',
      errorCode: 'PROVIDER_ANSWER_INVALID',
    });
    expect(harness.state.size).toBe(0);
  });

  it.each([
    ['is refused', { kind: 'status', code: 422 }, 'PROVIDER_REFUSED'],
    ['finds it gone by then', { kind: 'status', code: 404 }, 'SUBSCRIPTION_NOT_FOUND'],
    ['never gets through', { kind: 'status', code: 429 }, 'PROVIDER_UNAVAILABLE'],
    ['has no answer, and finds it unchanged', { kind: 'drop-before' }, 'PROVIDER_UNAVAILABLE'],
  ])('that %s has FAILED, and the ref is as it was', async (_, fault, errorCode) => {
    await using harness = await openControlHarness();
    if (errorCode === 'PROVIDER_UNAVAILABLE') passTime(harness, 'PUT', NEARLY_ALL_MS);
    await seedKnown(harness);
    await harness.sandbox.fail({ operation: 'update', ...fault });
    expect(await harness.run(adopt())).toMatchObject({ status: 'FAILED', errorCode });
    expect(harness.state.size).toBe(0);
  });

  it('that tells the encryption key of SECRETS_DIR has it in the state before, and whatever its end', async () => {
    const dialect = '{"update":{"body":{"url":"{url}","encryptionKey":"{encryptionKey}"}}}';
    await using harness = await openControlHarness({ dialect });
    const { id, signingSecret } = await harness.seed();
    const key = 'k'.repeat(32);
    harness.fixture.secrets('a', {
      'subscription-id': id,
      'signing-secret': signingSecret,
      'encryption-key': key,
    });
    const keys = () => {
      const { encryptionKey, previous = [] } = harness.secretsOf('a') ?? {};
      return [encryptionKey, ...previous.map((one) => one.encryptionKey)];
    };
    let atCall: unknown;
    harness.hooks.onCall = ({ method }) => {
      if (method === 'PUT') atCall = keys();
    };
    expect(await harness.run(adopt())).toMatchObject({ status: 'SUCCEEDED' });
    expect([atCall, keys()]).toEqual([[undefined, key], [key]]);
    // Again, with another key and another event, which the provider refuses: it goes back to what the ref had.
    harness.fixture.secrets('a', { 'encryption-key': 'l'.repeat(32) });
    await harness.sandbox.fail({ operation: 'update', kind: 'status', code: 422 });
    expect(await harness.run(adopt({ events: ['accounts-entries'] }))).toMatchObject({ status: 'FAILED' });
    expect(keys()).toEqual([key, 'l'.repeat(32)]);
  });

  it('over a deleted subscription does not have bodies encrypted for that one', async () => {
    const dialect = '{"update":{"body":{"url":"{url}","encryptionKey":"{encryptionKey}"}}}';
    await using harness = await openControlHarness({ dialect });
    await deleteOne(harness);
    await seedKnown(harness);
    const bodies: unknown[] = [];
    harness.hooks.onCall = ({ method, body }) => {
      if (method === 'PUT') bodies.push(body);
    };
    expect(await harness.run(adopt())).toMatchObject({ status: 'SUCCEEDED' });
    expect(bodies).toEqual([{ url }]);
  });

  it('for a ref that has another subscription is REJECTED', async () => {
    await using harness = await openControlHarness();
    await harness.run(create('a'));
    await seedKnown(harness);
    expect(await harness.run(adopt())).toMatchObject({ status: 'REJECTED', errorCode: 'REF_IN_USE' });
  });

  it('over a deleted subscription keeps its keys as what they are: those of another one', async () => {
    await using harness = await openControlHarness();
    await harness.run(create('a'));
    const old = harness.secretsOf('a');
    await harness.run({ type: 'subscription.delete', ref: 'a' });
    const { subscriptionId } = harness.state.get('a') ?? {};
    await seedKnown(harness);
    expect(await harness.run(adopt())).toMatchObject({ status: 'SUCCEEDED' });
    expect(harness.secretsOf('a')).toEqual({
      previous: [{ subscriptionId, ...old, retiredAt: expect.any(Number) }],
    });
  });

  it('of one that the ref had before takes its keys up again', async () => {
    await using harness = await openControlHarness();
    await harness.run(create('a'));
    const [{ id, signingSecret } = expect.fail()] = await harness.subscriptions();
    const secrets = harness.secretsOf('a');
    await harness.run({ type: 'subscription.delete', ref: 'a' });
    await seedKnown(harness, { id, signingSecret });
    expect(await harness.run(adopt())).toMatchObject({ status: 'SUCCEEDED', subscriptionId: id });
    expect(harness.secretsOf('a')).toEqual(secrets);
  });

  it('over a creation that came to no end seals its encryption key for the adopted one', async () => {
    await using harness = await openControlHarness();
    await createInPart(harness);
    const intended = harness.secretsOf('a');
    await seedKnown(harness);
    expect(await harness.run(adopt())).toMatchObject({ status: 'SUCCEEDED' });
    expect([harness.state.get('a')?.state, harness.secretsOf('a')]).toEqual(['ACTIVE', intended]);
  });

  it('as a dry run, or of what is not there, changes nothing', async () => {
    await using harness = await openControlHarness();
    const { id } = await seedKnown(harness);
    expect(await harness.run(adopt({ dryRun: true }))).toMatchObject({
      status: 'SUCCEEDED',
      subscriptionId: id,
    });
    await harness.sandbox.call('DELETE', `/_sandbox/subscriptions/${id}`);
    expect(await harness.run(adopt())).toMatchObject({
      status: 'FAILED',
      errorCode: 'SUBSCRIPTION_NOT_FOUND',
    });
    expect(harness.written).toEqual([]);
  });
});

describe('an adoption of what is another ref\u2019s', () => {
  it('is REJECTED: it stays where it is', async () => {
    await using harness = await openControlHarness();
    await harness.run(create('b'));
    const [one] = await harness.subscriptions();
    harness.fixture.secrets('a', {
      'subscription-id': one?.id ?? '',
      'signing-secret': one?.signingSecret ?? '',
    });
    expect(await harness.run(adopt())).toMatchObject({
      status: 'REJECTED',
      errorCode: 'REF_IN_USE',
      message: expect.stringContaining("another ref's"),
    });
    expect(await harness.subscriptions()).toEqual([one]);
    expect(harness.state.get('a')).toBeUndefined();
  });
});

it('an adoption by address alone is REJECTED where two are there', async () => {
  await using harness = await openControlHarness();
  await harness.seed({ url });
  const { signingSecret } = await harness.seed({ url });
  harness.fixture.secrets('a', { 'signing-secret': signingSecret });
  expect(await harness.run(adopt())).toMatchObject({
    status: 'REJECTED',
    errorCode: 'KEYS_MISSING',
    message: expect.stringContaining('as 2 are at the address'),
  });
});
