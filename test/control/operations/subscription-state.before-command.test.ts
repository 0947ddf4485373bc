import { describe, expect, it } from 'vitest';
import { parseDialect } from '../../../src/provider/dialect.ts';
import { adopt, createInPart, deleteOne, seedKnown, takeUntilPut, url } from '../../support/adoptions.ts';
import { type ControlHarness, create, openControlHarness, TOPIC } from '../../support/control-harness.ts';
import { sealingKeysOf } from '../../support/spool-scene.ts';

const CREATE_REFUSED = { operation: 'create', kind: 'status', code: 422 } as const;
const UPDATE_REFUSED = { operation: 'update', kind: 'status', code: 422 } as const;
const LABELS = { dialect: '{"extra":{"allow":["label"]}}' };

/** A deleted subscription that was adopted: its own secret is in SECRETS_DIR, and it carries the keys of one that was deleted before. */
async function deleteAdopted(harness: ControlHarness) {
  await deleteOne(harness);
  await seedKnown(harness);
  await harness.run(adopt());
  await harness.run({ type: 'subscription.delete', ref: 'a' });
  const secrets = harness.secretsOf('a');
  expect(secrets?.previous).toHaveLength(1);
  return secrets;
}

describe('a command that comes to nothing', () => {
  it.each([
    [
      'a creation',
      async (harness: ControlHarness) => {
        await harness.sandbox.fail(CREATE_REFUSED);
        await harness.run(create('a'));
      },
    ],
    [
      'an adoption',
      async (harness: ControlHarness) => {
        await seedKnown(harness);
        await harness.sandbox.fail(UPDATE_REFUSED);
        await harness.run(adopt());
      },
    ],
    [
      'a creation that is deleted',
      async (harness: ControlHarness) => {
        await createInPart(harness);
        await harness.run({ type: 'subscription.delete', ref: 'a' });
      },
    ],
  ])('leaves the keys that an adopted and deleted subscription carries: %s', async (_, comesToNothing) => {
    await using harness = await openControlHarness();
    const secrets = await deleteAdopted(harness);
    harness.fixture.secrets('a', { 'subscription-id': '', 'signing-secret': '' });
    await comesToNothing(harness);
    expect(harness.state.get('a')).toMatchObject({ state: 'RETIRED' });
    expect(harness.secretsOf('a')).toEqual(secrets);
  });

  it.each(['subscription.create', 'subscription.delete'])(
    'while the sealing key is gone leaves the keys for when it comes back: %s',
    async (type) => {
      await using harness = await openControlHarness();
      await deleteOne(harness);
      const secrets = harness.secretsOf('a');
      const record = await createInPart(harness);
      const { sealingKeys } = harness.parts;
      Object.assign(harness.parts, { sealingKeys: sealingKeysOf('b') });
      await harness.sandbox.fail(CREATE_REFUSED);
      if (type === 'subscription.create') await harness.take(record);
      else await harness.run({ type, ref: 'a' });
      Object.assign(harness.parts, { sealingKeys });
      expect(harness.state.get('a')).toMatchObject({ state: 'RETIRED' });
      expect(harness.secretsOf('a')).toEqual(secrets);
    },
  );

  it('leaves the extra that was accepted, so that it may be sent again', async () => {
    await using harness = await openControlHarness(LABELS);
    const extra = { label: 'x' };
    await harness.run(create('a', { extra }));
    await harness.run({ type: 'subscription.delete', ref: 'a' });
    Object.assign(harness.parts, { dialect: parseDialect('{}') });
    await harness.sandbox.fail(CREATE_REFUSED);
    expect(await harness.run(create('a', { extra }))).toMatchObject({ errorCode: 'PROVIDER_REFUSED' });
    expect(await harness.run(create('a', { extra }))).toMatchObject({ status: 'SUCCEEDED' });
  });

  it('leaves no extra that was refused, nor does the next one take it for accepted', async () => {
    await using harness = await openControlHarness(LABELS);
    await seedKnown(harness);
    await harness.run(adopt({ extra: { label: 'good' } }));
    await takeUntilPut(
      harness,
      harness.recordOf({ commandId: 'a-1', ...adopt({ extra: { label: 'unknown' } }) }),
    );
    await harness.sandbox.fail(UPDATE_REFUSED);
    await harness.run(adopt({ extra: { label: 'bad' } }));
    expect(harness.state.get('a')?.extra).toBe('{"label":"good"}');
    await takeUntilPut(
      harness,
      harness.recordOf({ commandId: 'a-2', ...adopt({ extra: { label: 'unknown' } }) }),
    );
    expect(await harness.run(adopt({ events: ['payment_status'] }))).toMatchObject({ status: 'SUCCEEDED' });
    expect(harness.state.get('a')?.extra).toBe('{"label":"good"}');
  });
});

describe('what an older version had begun', () => {
  it('an adoption: it stored the ref as ACTIVE before its call, which is made', async () => {
    await using harness = await openControlHarness();
    const { id } = await seedKnown(harness);
    harness.state.set('a', {
      ref: 'a',
      state: 'ACTIVE',
      subscriptionId: id,
      receiverUrl: url,
      events: ['payment-status'],
      owner: TOPIC,
      sealedKeys: null,
      commandId: 'a-1',
      updatedAt: Date.now(),
    });
    const record = harness.recordOf({ commandId: 'a-1', ...adopt({ events: ['accounts-entries'] }) });
    await harness.take(record);
    expect(harness.results.at(-1)).toMatchObject({ status: 'SUCCEEDED' });
    expect(await harness.subscriptions()).toMatchObject([{ url, events: ['accounts-entries'] }]);
  });

  it('an update with an expiry: it noted its id as that of the last change before its call, which is made', async () => {
    await using harness = await openControlHarness();
    await harness.run(create('a'));
    const before = harness.state.get('a') ?? expect.fail('no record');
    harness.state.set('a', { ...before, commandId: 'u-1' });
    const update = { type: 'subscription.update', ref: 'a', events: ['accounts-entries'] };
    await harness.take(harness.recordOf({ commandId: 'u-1', ...update, expiresAt: Date.now() + 60_000 }));
    expect(await harness.subscriptions()).toMatchObject([{ events: ['accounts-entries'] }]);
  });
});
