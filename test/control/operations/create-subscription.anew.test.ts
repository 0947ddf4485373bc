import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { adopt, createInPart, seedKnown, takeUntilPut } from '../../support/adoptions.ts';
import { type ControlHarness, create, killed, openControlHarness } from '../../support/control-harness.ts';

const REFUSED = { operation: 'create', kind: 'status', code: 422 } as const;
const MATCH = { ifMatch: 'c-0' };

/** A harness at whose provider the subscription of ref `a` is no longer there; that of `beside` is. */
async function harnessWithMissing() {
  const harness = await openControlHarness();
  await harness.run(create('beside'));
  await harness.run(create('a', { commandId: 'c-0' }));
  const secrets = harness.secretsOf('a');
  const before = harness.state.get('a') ?? expect.fail('no record');
  await harness.sandbox.call('DELETE', `/_sandbox/subscriptions/${before.subscriptionId}`);
  return { harness, secrets, before, [Symbol.asyncDispose]: () => harness[Symbol.asyncDispose]() };
}

const at = async (harness: ControlHarness) =>
  (await harness.subscriptions()).filter(({ url }) => url.endsWith('/webhooks/a'));

const retired = (the: Awaited<ReturnType<typeof harnessWithMissing>>) => [
  { ...the.secrets, subscriptionId: the.before.subscriptionId, retiredAt: expect.any(Number) },
];

/** The command's process dies after it has removed a subscription; it is taken up when the command has expired. */
async function takeLate(harness: ControlHarness, command: object) {
  const expiresAt = Date.now() + 60_000;
  const record = harness.recordOf({ commandId: 'c-2', ...command, expiresAt });
  let isRemoved = false;
  harness.hooks.onCall = ({ method }) => {
    if (method === 'DELETE') isRemoved = true;
  };
  harness.hooks.onWrite = () => {
    if (isRemoved) throw killed();
  };
  await expect(harness.take(record)).rejects.toMatchObject({ code: 'PUBLISHER_CLOSED' });
  delete harness.hooks.onWrite;
  expect(isRemoved).toBe(true);
  onTestFinished(() => void vi.useRealTimers());
  vi.useFakeTimers({ toFake: ['Date'], now: expiresAt + 1 });
  await harness.take(record);
}

describe('a creation anew', () => {
  it('keeps what was there until it can be verified, and its keys after that', async () => {
    await using the = await harnessWithMissing();
    const { harness } = the;
    const from = harness.written.length;
    const result = await harness.run(create('a', MATCH));
    expect(result).toMatchObject({ status: 'SUCCEEDED', message: 'created' });
    const [made, ...more] = await at(harness);
    expect([made?.id, more]).toEqual([result.subscriptionId, []]);
    expect(harness.written.slice(from).map((record) => record?.state)).toEqual(['REQUESTED', 'ACTIVE']);
    expect(harness.secretsOf('a')).toEqual({
      signingSecret: made?.signingSecret,
      encryptionKey: made?.encryptionKey,
      previous: retired(the),
    });
  });

  it.each([
    ['has no ifMatch', create('a'), 'REF_IN_USE'],
    ['names another state', create('a', { ifMatch: 'c-9' }), 'PRECONDITION_FAILED'],
  ])('is REJECTED where it %s', async (_, command, errorCode) => {
    await using the = await harnessWithMissing();
    expect(await the.harness.run(command)).toMatchObject({ status: 'REJECTED', errorCode });
    expect(the.harness.state.get('a')).toEqual(the.before);
  });

  it('is REJECTED where the provider has it', async () => {
    await using harness = await openControlHarness();
    await harness.run(create('a', { commandId: 'c-0' }));
    expect(await harness.run(create('a', MATCH))).toMatchObject({ errorCode: 'REF_IN_USE' });
    expect(await at(harness)).toHaveLength(1);
  });

  it('is REJECTED over an adoption that did not come to its end', async () => {
    await using harness = await openControlHarness();
    await harness.run(create('beside'));
    const { id } = await seedKnown(harness);
    await takeUntilPut(harness, harness.recordOf({ commandId: 'c-0', ...adopt() }));
    await harness.sandbox.call('DELETE', `/_sandbox/subscriptions/${id}`);
    expect(await harness.run(create('a', MATCH))).toMatchObject({ errorCode: 'REF_IN_USE' });
  });

  it('as a dry run changes nothing', async () => {
    await using the = await harnessWithMissing();
    const { harness } = the;
    expect(await harness.run(create('a', { ...MATCH, dryRun: true }))).toMatchObject({ status: 'SUCCEEDED' });
    expect([harness.state.get('a'), await at(harness)]).toEqual([the.before, []]);
  });

  it('does not leave the one before where the list did not show it', async () => {
    await using harness = await openControlHarness();
    await harness.run(create('a', { commandId: 'c-0' }));
    await harness.run(create('beside'));
    const [beside] = (await harness.subscriptions()).filter(({ url }) => !url.endsWith('/webhooks/a'));
    const cut = { operation: 'list', kind: 'status', code: 200, body: [beside] } as const;
    await harness.sandbox.fail(cut, cut);
    const result = await harness.run(create('a', MATCH));
    expect(result).toMatchObject({ status: 'SUCCEEDED' });
    expect((await at(harness)).map(({ id }) => id)).toEqual([result.subscriptionId]);
  });

  it('that is refused leaves the ref as it was', async () => {
    await using the = await harnessWithMissing();
    const { harness } = the;
    await harness.sandbox.fail(REFUSED);
    expect(await harness.run(create('a', MATCH))).toMatchObject({ errorCode: 'PROVIDER_REFUSED' });
    expect(harness.state.get('a')).toEqual({ ...the.before, sealedKeys: expect.anything() });
    expect(harness.secretsOf('a')).toEqual(the.secrets);
  });

  it('has not come to its end by what was there before, where its process dies before its result', async () => {
    await using the = await harnessWithMissing();
    const { harness } = the;
    const command = create('a', { commandId: 'c-2', ...MATCH, expiresAt: Date.now() + 60_000 });
    const record = harness.recordOf(command);
    await harness.sandbox.fail(REFUSED);
    harness.hooks.onWrite = (what) => {
      if (what === 'result') throw killed();
    };
    await expect(harness.take(record)).rejects.toMatchObject({ code: 'PUBLISHER_CLOSED' });
    delete harness.hooks.onWrite;
    await harness.take(record);
    expect(harness.results.at(-1)).toMatchObject({ status: 'SUCCEEDED' });
    expect(await at(harness)).toMatchObject([{ id: harness.state.get('a')?.subscriptionId }]);
  });

  it('that has removed what the list did not show is not EXPIRED when it is taken up', async () => {
    await using harness = await openControlHarness();
    await harness.run(create('a', { commandId: 'c-0' }));
    await harness.run(create('beside'));
    const others = (await harness.subscriptions()).filter(({ url }) => !url.endsWith('/webhooks/a'));
    const cut = { operation: 'list', kind: 'status', code: 200, body: others } as const;
    await harness.sandbox.fail(cut, cut);
    await takeLate(harness, create('a', MATCH));
    expect(harness.results.at(-1)).toMatchObject({ status: 'SUCCEEDED' });
    expect(await at(harness)).toMatchObject([{ id: harness.state.get('a')?.subscriptionId }]);
  });

  it.each([
    ['creation', create('a')],
    ['adoption', adopt()],
  ])('nor is the %s that has removed what an earlier creation has left', async (_, command) => {
    await using harness = await openControlHarness();
    await createInPart(harness);
    if (command.type === 'subscription.adopt') await seedKnown(harness);
    await takeLate(harness, command);
    expect(harness.results.at(-1)).toMatchObject({ status: 'SUCCEEDED' });
    expect(await at(harness)).toMatchObject([{ id: harness.state.get('a')?.subscriptionId }]);
  });

  it.each([
    ['creation', create('a'), 'RETIRED'],
    ['adoption', adopt(), 'REQUESTED'],
  ])('nor is the %s over a deleted one that was refused after that', async (_, command, becomes) => {
    await using harness = await openControlHarness();
    await harness.run(create('a', { commandId: 'c-0' }));
    await harness.run({ commandId: 'd-0', type: 'subscription.delete', ref: 'a' });
    await createInPart(harness);
    if (command.type === 'subscription.adopt') await seedKnown(harness);
    await harness.sandbox.fail(
      { ...REFUSED, times: null },
      { operation: 'update', kind: 'status', code: 422, times: null },
    );
    const expiresAt = Date.now() + 60_000;
    const record = harness.recordOf({ commandId: 'c-2', ...command, expiresAt });
    harness.hooks.onWrite = (what) => {
      if (what === 'result') throw killed();
    };
    await expect(harness.take(record)).rejects.toMatchObject({ code: 'PUBLISHER_CLOSED' });
    delete harness.hooks.onWrite;
    expect(harness.state.get('a')).toMatchObject({ state: becomes, begunBy: 'c-2' });
    onTestFinished(() => void vi.useRealTimers());
    vi.useFakeTimers({ toFake: ['Date'], now: expiresAt + 1 });
    await harness.take(record);
    expect(harness.results.at(-1)).toMatchObject({ status: 'FAILED', errorCode: 'PROVIDER_REFUSED' });
  });

  it('is EXPIRED over a deleted one where it was refused and has removed nothing', async () => {
    await using harness = await openControlHarness();
    await harness.run(create('a', { commandId: 'c-0' }));
    await harness.run({ commandId: 'd-0', type: 'subscription.delete', ref: 'a' });
    await harness.sandbox.fail(REFUSED);
    const expiresAt = Date.now() + 60_000;
    const record = harness.recordOf({ commandId: 'c-2', ...create('a'), expiresAt });
    harness.hooks.onWrite = (what) => {
      if (what === 'result') throw killed();
    };
    await expect(harness.take(record)).rejects.toMatchObject({ code: 'PUBLISHER_CLOSED' });
    delete harness.hooks.onWrite;
    onTestFinished(() => void vi.useRealTimers());
    vi.useFakeTimers({ toFake: ['Date'], now: expiresAt + 1 });
    await harness.take(record);
    expect(harness.results.at(-1)).toMatchObject({ status: 'EXPIRED' });
    expect(await at(harness)).toEqual([]);
  });

  it.each([
    ['is made when it is taken up', [], { state: 'ACTIVE', commandId: 'c-1' }],
    ['that is refused then leaves the ref as it was', [REFUSED], { state: 'ACTIVE', commandId: 'c-0' }],
  ])('whose process dies %s', async (_, faults, becomes) => {
    await using the = await harnessWithMissing();
    const { harness } = the;
    const record = await createInPart(harness, MATCH);
    await harness.sandbox.fail(...faults);
    await harness.take(record);
    expect(harness.state.get('a')).toMatchObject(becomes);
    const isMade = faults.length === 0;
    expect(await at(harness)).toHaveLength(isMade ? 1 : 0);
    expect(isMade ? harness.secretsOf('a')?.previous : harness.secretsOf('a')).toEqual(
      isMade ? retired(the) : the.secrets,
    );
  });

  it('that did not come to its end is deleted with the one before, whose keys stay', async () => {
    await using the = await harnessWithMissing();
    const { harness } = the;
    await createInPart(harness, MATCH);
    expect(await harness.run({ commandId: 'd-1', type: 'subscription.delete', ref: 'a' })).toMatchObject({
      status: 'SUCCEEDED',
      message: 'deleted: the provider no longer had it',
      subscriptionId: the.before.subscriptionId,
    });
    expect(harness.state.get('a')).toMatchObject({
      state: 'RETIRED',
      commandId: 'd-1',
      subscriptionId: the.before.subscriptionId,
      updatedAt: expect.any(Number),
    });
    expect(harness.secretsOf('a')).toEqual(the.secrets);
    expect(await at(harness)).toEqual([]);
  });
});
