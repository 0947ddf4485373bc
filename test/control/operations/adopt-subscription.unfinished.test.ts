import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { adopt, createInPart, deleteOne, seedKnown, takeUntilPut, url } from '../../support/adoptions.ts';
import {
  type ControlHarness,
  create,
  killed,
  openControlHarness,
  PUBLIC_URL,
} from '../../support/control-harness.ts';

const REFUSED = { operation: 'update', kind: 'status', code: 422 } as const;
const HANGS = { operation: 'update', kind: 'hang' } as const;

async function takeUntil(
  harness: ControlHarness,
  record: ReturnType<ControlHarness['recordOf']>,
  what: string,
) {
  harness.hooks.onWrite = (one) => {
    if (one === what && harness.state.has('a')) throw killed();
  };
  await expect(harness.take(record)).rejects.toMatchObject({ code: 'PUBLISHER_CLOSED' });
  delete harness.hooks.onWrite;
}

describe('an adoption that does not come to its end at once', () => {
  it.each([
    ['nothing', seedKnown],
    [
      'a deleted subscription',
      async (harness: ControlHarness) => {
        await deleteOne(harness);
        await seedKnown(harness);
      },
    ],
    [
      'a creation that came to no end',
      async (harness: ControlHarness) => {
        await createInPart(harness);
        await seedKnown(harness);
      },
    ],
    [
      'the same subscription',
      async (harness: ControlHarness) => {
        await seedKnown(harness);
        expect(await harness.run(adopt({ events: ['accounts-entries'] }))).toMatchObject({
          status: 'SUCCEEDED',
        });
      },
    ],
  ])('that is refused after a crash has FAILED, and the ref is as it was: %s', async (_, begin) => {
    await using harness = await openControlHarness();
    await begin(harness);
    const before = harness.state.get('a');
    const secrets = harness.secretsOf('a');
    const record = harness.recordOf({ commandId: 'a-1', ...adopt({ events: ['payment_status'] }) });
    await takeUntilPut(harness, record);
    expect(harness.state.get('a')).toMatchObject({ state: 'ACTIVE', commandId: 'a-1' });
    // Twice: what the first resumption stores is not taken for what was before it.
    await takeUntilPut(harness, record);
    await harness.sandbox.fail(REFUSED);
    await harness.take(record);
    expect(harness.results.at(-1)).toMatchObject({ status: 'FAILED', errorCode: 'PROVIDER_REFUSED' });
    // Its keys are sealed anew.
    const sealedKeys = before?.sealedKeys ? expect.anything() : null;
    expect(harness.state.get('a')).toEqual(before && { ...before, sealedKeys });
    expect(harness.secretsOf('a')).toEqual(secrets);
  });

  it.each([
    ['are gone', (harness: ControlHarness) => harness.fixture.forget('a')],
    ['cannot be used', ({ fixture }: ControlHarness) => fixture.secrets('a', { 'signing-secret': 'short' })],
  ])('that had its effect before a crash is not REJECTED where its files %s then', async (_, change) => {
    await using harness = await openControlHarness();
    const { id, signingSecret } = await seedKnown(harness);
    const record = harness.recordOf({ commandId: 'a-1', ...adopt() });
    await takeUntil(harness, record, 'state');
    expect(await harness.subscriptions()).toMatchObject([{ id, url }]);
    change(harness);
    await harness.take(record);
    expect(harness.results.at(-1)).toMatchObject({
      status: 'FAILED',
      errorCode: 'PROVIDER_UNAVAILABLE',
      message: expect.stringContaining('may have taken effect: correct the files and adopt it again'),
    });
    // Another command of its kind has changed nothing.
    expect(await harness.run(adopt())).toMatchObject({ status: 'REJECTED' });
    harness.fixture.secrets('a', { 'signing-secret': signingSecret });
    expect(await harness.run(adopt())).toMatchObject({ status: 'SUCCEEDED', subscriptionId: id });
  });

  const soon = Date.now() + 60_000;
  const idOf = ({ fixture }: ControlHarness) => join(fixture.dir, 'secrets/a/subscription-id');
  it.each([
    ['its files are', soon, (harness: ControlHarness) => harness.fixture.forget('a')],
    ['its subscription-id is', soon, (harness: ControlHarness) => rmSync(idOf(harness))],
    ['its files are, and it never expires,', null, ({ fixture }: ControlHarness) => fixture.forget('a')],
  ])(
    'that has removed what a creation had left is not REJECTED where %s gone after a crash',
    async (_, expiresAt, remove) => {
      await using harness = await openControlHarness();
      await createInPart(harness);
      await seedKnown(harness);
      const record = harness.recordOf({ commandId: 'a-1', ...adopt({ expiresAt }) });
      harness.hooks.onWrite = () => {
        if (harness.state.get('a')?.begunBy === 'a-1') throw killed();
      };
      await expect(harness.take(record)).rejects.toMatchObject({ code: 'PUBLISHER_CLOSED' });
      delete harness.hooks.onWrite;
      expect(await harness.subscriptions()).toHaveLength(1);
      remove(harness);
      await harness.take(record);
      expect(harness.results.at(-1)).toMatchObject({ status: 'FAILED', errorCode: 'PROVIDER_UNAVAILABLE' });
    },
  );

  it.each([
    ['before a crash', 'update'],
    ['although the answer was lost', 'answer'],
  ])('that had its effect %s, and is refused then, stays: its deliveries are verified', async (_, lost) => {
    await using harness = await openControlHarness();
    const { id } = await seedKnown(harness);
    const record = harness.recordOf({ commandId: 'a-1', ...adopt({ events: ['payment_status'] }) });
    if (lost === 'update') {
      harness.hooks.onWrite = () => {
        if (harness.state.get('a')) throw killed();
      };
      await expect(harness.take(record)).rejects.toMatchObject({ code: 'PUBLISHER_CLOSED' });
      delete harness.hooks.onWrite;
      await harness.sandbox.fail(REFUSED);
    } else await harness.sandbox.fail({ operation: 'update', kind: 'drop-after' }, REFUSED);
    await harness.take(record);
    expect(harness.results.at(-1)).toMatchObject({ status: 'FAILED', errorCode: 'PROVIDER_REFUSED' });
    expect(await harness.subscriptions()).toMatchObject([{ id, url }]);
    expect(harness.state.get('a')).toMatchObject({ state: 'ACTIVE', subscriptionId: id });
  });

  it('that was complete before a crash has succeeded, whatever the provider answers now', async () => {
    await using harness = await openControlHarness();
    const { id } = await seedKnown(harness);
    const record = harness.recordOf({ commandId: 'a-1', ...adopt({ events: ['payment_status'] }) });
    await takeUntil(harness, record, 'result');
    await harness.sandbox.fail(REFUSED, { operation: 'list', kind: 'status', code: 403 });
    await harness.take(record);
    expect(harness.results.at(-1)).toMatchObject({ status: 'SUCCEEDED', subscriptionId: id });
    expect(harness.state.get('a')).toMatchObject({ state: 'ACTIVE', subscriptionId: id, replaced: null });
  });

  it('that is tried again and refused leaves what was before both, when the first cannot take effect any more', async () => {
    await using harness = await openControlHarness({ deadlineMs: 1_500, retiredKeysTtlMs: 3_600_000 });
    await deleteOne(harness);
    const before = harness.state.get('a');
    await seedKnown(harness);
    await harness.sandbox.fail(HANGS);
    expect(await harness.run(adopt())).toMatchObject({ status: 'FAILED' });
    const unfinished = { state: 'ACTIVE', replaced: expect.any(String) };
    expect(harness.state.get('a')).toMatchObject(unfinished);
    await harness.sandbox.fail(REFUSED);
    const refused = { status: 'FAILED', errorCode: 'PROVIDER_REFUSED' };
    expect(await harness.run(adopt())).toMatchObject(refused);
    expect(harness.state.get('a')).toMatchObject(unfinished);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 1_500 + 60_001 });
    onTestFinished(() => void vi.useRealTimers());
    await harness.sandbox.fail(REFUSED);
    expect(await harness.run(adopt())).toMatchObject(refused);
    expect(harness.state.get('a')).toEqual(before && { ...before, sealedKeys: expect.anything() });
  });

  it('as a dry run leaves what is unfinished', async () => {
    await using harness = await openControlHarness();
    const { id } = await seedKnown(harness);
    await takeUntilPut(harness, harness.recordOf({ commandId: 'a-1', ...adopt() }));
    await harness.sandbox.call('DELETE', `/_sandbox/subscriptions/${id}`);
    const dry = await harness.run(adopt({ dryRun: true }));
    expect(dry).toMatchObject({ errorCode: 'SUBSCRIPTION_NOT_FOUND' });
    expect(harness.state.get('a')).toMatchObject({ state: 'ACTIVE', replaced: 'null' });
  });

  it('over a creation that came to no end needs the subscription-id: two may be at the address', async () => {
    await using harness = await openControlHarness();
    await createInPart(harness);
    const wanted = await harness.seed({ url });
    harness.fixture.secrets('a', { 'signing-secret': wanted.signingSecret });
    expect(await harness.run(adopt())).toMatchObject({ status: 'REJECTED', errorCode: 'KEYS_MISSING' });
    expect(await harness.subscriptions()).toHaveLength(2);
    harness.fixture.secrets('a', { 'subscription-id': wanted.id });
    expect(await harness.run(adopt())).toMatchObject({ status: 'SUCCEEDED' });
    expect(await harness.subscriptions()).toMatchObject([{ id: wanted.id, url }]);
  });

  it('that is refused while the list is empty, and others are active, stays: the list may be wrong', async () => {
    await using harness = await openControlHarness();
    await harness.run(create('b'));
    await seedKnown(harness);
    await harness.sandbox.fail(
      { operation: 'update', kind: 'drop-after' },
      REFUSED,
      { operation: 'list', kind: 'alter', set: {} },
      { operation: 'list', kind: 'status', code: 200, body: [] },
    );
    expect(await harness.run(adopt())).toMatchObject({ status: 'FAILED', errorCode: 'PROVIDER_REFUSED' });
    expect(harness.state.get('a')).toMatchObject({ state: 'ACTIVE', replaced: 'null' });
  });

  it('whose subscription is gone by then leaves nothing that other refs would wait for', async () => {
    await using harness = await openControlHarness();
    const { id } = await seedKnown(harness);
    const record = harness.recordOf({ commandId: 'a-1', ...adopt() });
    await takeUntilPut(harness, record);
    await harness.sandbox.call('DELETE', `/_sandbox/subscriptions/${id}`);
    await harness.take(record);
    expect(harness.results.at(-1)).toMatchObject({ errorCode: 'SUBSCRIPTION_NOT_FOUND' });
    expect(harness.state.size).toBe(0);
  });

  it('is finished for the subscription that it was begun for, whatever SECRETS_DIR names by then', async () => {
    await using harness = await openControlHarness();
    const { id } = await seedKnown(harness);
    const record = harness.recordOf({ commandId: 'a-1', ...adopt() });
    await takeUntil(harness, record, 'state');
    await seedKnown(harness, { url: `${PUBLIC_URL}/other` });
    await harness.take(record);
    expect(harness.results.at(-1)).toMatchObject({ status: 'SUCCEEDED', subscriptionId: id });
    expect(harness.state.get('a')).toMatchObject({ subscriptionId: id, replaced: null });
  });

  it('and may have changed the events is not EXPIRED when it is taken up', async () => {
    await using harness = await openControlHarness();
    await seedKnown(harness);
    await harness.run(adopt({ events: ['accounts-entries'] }));
    const expiresAt = Date.now() + 60_000;
    const command = { commandId: 'a-1', ...adopt({ events: ['payment_status'], expiresAt }) };
    const record = harness.recordOf(command);
    await harness.sandbox.fail({ operation: 'update', kind: 'drop-after' }, REFUSED);
    await takeUntil(harness, record, 'result');
    vi.useFakeTimers({ toFake: ['Date'], now: expiresAt + 1 });
    try {
      await harness.take(record);
    } finally {
      vi.useRealTimers();
    }
    expect(harness.results.at(-1)).toMatchObject({ status: 'SUCCEEDED' });
    expect(harness.state.get('a')?.events).toEqual(['payment-status']);
  });

  it('over a creation that came to no end removes what that has left', async () => {
    await using harness = await openControlHarness();
    await createInPart(harness);
    const { id } = await seedKnown(harness);
    expect(await harness.run(adopt())).toMatchObject({ status: 'SUCCEEDED' });
    expect(await harness.subscriptions()).toMatchObject([{ id, url }]);
  });

  it('keeps no keys and no extra twice', async () => {
    await using harness = await openControlHarness({ dialect: '{"extra":{"allow":["label"]}}' });
    await seedKnown(harness);
    const extra = { label: 'x'.repeat(10_000) };
    await harness.run(adopt({ extra }));
    const before = harness.state.get('a');
    const record = harness.recordOf({ commandId: 'a-1', ...adopt({ events: ['payment_status'] }) });
    await takeUntilPut(harness, record);
    expect(harness.state.get('a')?.extra).toHaveLength(10_012);
    expect(harness.state.get('a')?.replaced?.length).toBeLessThan(1_000);
    await harness.sandbox.fail(REFUSED);
    await harness.take(record);
    expect(harness.state.get('a')).toEqual(before);
  });
});
