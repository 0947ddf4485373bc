import { describe, expect, it } from 'vitest';
import { adopt, createInPart, deleteOne, seedKnown, url } from '../../support/adoptions.ts';
import {
  type ControlHarness,
  create,
  NEARLY_ALL_MS,
  openControlHarness,
  passTime,
} from '../../support/control-harness.ts';
import { sealingKeysOf } from '../../support/spool-scene.ts';

const remove = (more: object = {}) => ({ type: 'subscription.delete', ref: 'a', ...more });

describe('a deletion', () => {
  it('removes the subscription and keeps its keys for deliveries under way', async () => {
    await using harness = await openControlHarness();
    await harness.run(create('a'));
    const secrets = harness.secretsOf('a');
    const { subscriptionId } = harness.state.get('a') ?? {};
    expect(await harness.run(remove())).toMatchObject({
      status: 'SUCCEEDED',
      httpStatus: 204,
      subscriptionId,
    });
    expect(await harness.subscriptions()).toEqual([]);
    expect(harness.state.get('a')).toMatchObject({ state: 'RETIRED', subscriptionId });
    expect(harness.secretsOf('a')).toEqual(secrets);
  });

  it('of what is gone has succeeded, at whichever end it is gone', async () => {
    await using harness = await openControlHarness();
    expect(await harness.run(remove())).toMatchObject({ status: 'SUCCEEDED', attempts: 0 });
    await harness.run(create('a'));
    await harness.sandbox.call('DELETE', `/_sandbox/subscriptions/${harness.state.get('a')?.subscriptionId}`);
    expect(await harness.run(remove())).toMatchObject({
      status: 'SUCCEEDED',
      message: 'deleted: the provider no longer had it',
    });
    expect(await harness.run(remove())).toMatchObject({ status: 'SUCCEEDED', attempts: 0 });
  });

  it('whose answer is lost is asked for again', async () => {
    await using harness = await openControlHarness();
    await harness.run(create('a'));
    await harness.sandbox.fail({ operation: 'delete', kind: 'drop-after' });
    expect(await harness.run(remove())).toMatchObject({ status: 'SUCCEEDED', httpStatus: 404, attempts: 3 });
  });

  it('whose answer is lost, and whose repetition is refused, is done where the list says so', async () => {
    await using harness = await openControlHarness();
    await harness.run(create('a'));
    await harness.sandbox.fail(
      { operation: 'delete', kind: 'drop-after' },
      { operation: 'delete', kind: 'status', code: 403 },
    );
    expect(await harness.run(remove())).toMatchObject({ status: 'SUCCEEDED', message: 'deleted' });
    expect(harness.state.get('a')).toMatchObject({ state: 'RETIRED' });
  });

  it('whose first answer is lost, and whose repetition is refused, leaves what is there', async () => {
    await using harness = await openControlHarness();
    await harness.run(create('a'));
    await harness.sandbox.fail(
      { operation: 'delete', kind: 'status', code: 502 },
      { operation: 'delete', kind: 'status', code: 403 },
    );
    expect(await harness.run(remove())).toMatchObject({
      status: 'FAILED',
      errorCode: 'PROVIDER_REFUSED',
      message: expect.stringContaining(
        '403; an earlier call may have had its effect: the provider answered 502',
      ),
    });
    expect(harness.state.get('a')).toMatchObject({ state: 'ACTIVE' });
  });

  it('while the sealing key is gone is refused: the keys would never open again', async () => {
    await using harness = await openControlHarness();
    await harness.run(create('a'));
    const secrets = harness.secretsOf('a');
    const { sealingKeys } = harness.parts;
    Object.assign(harness.parts, { sealingKeys: sealingKeysOf('b') });
    for (const dryRun of [true, false])
      expect(await harness.run(remove({ dryRun }))).toMatchObject({
        status: 'REJECTED',
        errorCode: 'KEYS_SEALED',
      });
    expect(await harness.subscriptions()).toHaveLength(1);
    Object.assign(harness.parts, { sealingKeys });
    expect(harness.secretsOf('a')).toEqual(secrets);
    Object.assign(harness.parts, { sealingKeys: sealingKeysOf('b') });
    const { commandId } = harness.state.get('a') ?? {};
    for (const issuedBy of ['hookline-reconciler', 'hookline subscriptions'])
      expect(await harness.run(remove({ ifMatch: commandId, issuedBy }))).toMatchObject({
        errorCode: 'KEYS_SEALED',
      });
    expect(await harness.run(remove({ ifMatch: commandId }))).toMatchObject({ status: 'SUCCEEDED' });
  });

  it('that a gateway answers 404 is asked for again while the provider lists the subscription', async () => {
    await using harness = await openControlHarness();
    await harness.run(create('a'));
    await harness.sandbox.fail({ operation: 'delete', kind: 'status', code: 404, times: 2 });
    expect(await harness.run(remove())).toMatchObject({
      status: 'SUCCEEDED',
      message: 'deleted',
      attempts: 5,
    });
    expect(await harness.subscriptions()).toEqual([]);
  });

  it('that a gateway answers 404, with an empty list, leaves everything', async () => {
    await using harness = await openControlHarness();
    for (const ref of ['a', 'b']) await harness.run(create(ref));
    await harness.sandbox.fail(
      { operation: 'delete', kind: 'status', code: 404 },
      { operation: 'list', kind: 'status', code: 200, body: [] },
    );
    expect(await harness.run(remove())).toMatchObject({
      status: 'FAILED',
      errorCode: 'PROVIDER_ANSWER_INVALID',
    });
    expect(harness.state.get('a')).toMatchObject({ state: 'ACTIVE' });
  });

  it('of what is answered 410 is done, whatever the list says', async () => {
    await using harness = await openControlHarness();
    await harness.run(create('a'));
    await harness.sandbox.fail({ operation: 'delete', kind: 'status', code: 410 });
    expect(await harness.run(remove())).toMatchObject({ status: 'SUCCEEDED', attempts: 1 });
  });

  it('that a gateway answers 404, and its list with it, leaves everything', async () => {
    await using harness = await openControlHarness();
    await harness.run(create('a'));
    const before = harness.state.get('a');
    await harness.sandbox.fail(
      { operation: 'delete', kind: 'status', code: 404 },
      { operation: 'list', kind: 'status', code: 404 },
    );
    expect(await harness.run(remove())).toMatchObject({
      status: 'FAILED',
      errorCode: 'PROVIDER_ANSWER_INVALID',
      httpStatus: 404,
    });
    expect([harness.state.get('a'), (await harness.subscriptions()).length]).toEqual([before, 1]);
  });

  it('that is refused leaves everything', async () => {
    await using harness = await openControlHarness();
    await harness.run(create('a'));
    const before = harness.state.get('a');
    await harness.sandbox.fail({ operation: 'delete', kind: 'status', code: 403 });
    expect(await harness.run(remove())).toMatchObject({ status: 'FAILED', errorCode: 'PROVIDER_REFUSED' });
    expect([harness.state.get('a'), (await harness.subscriptions()).length]).toEqual([before, 1]);
  });

  it('of a creation that came to no end removes what that has left', async () => {
    await using harness = await openControlHarness();
    passTime(harness, 'POST', NEARLY_ALL_MS);
    await harness.sandbox.fail(
      { operation: 'list', kind: 'status', code: 200, body: [] },
      { operation: 'create', kind: 'drop-after' },
      { operation: 'list', kind: 'status', code: 503, headers: { 'Retry-After': '60' } },
    );
    await harness.run(create('a'));
    expect([harness.state.get('a')?.state, (await harness.subscriptions()).length]).toEqual(['REQUESTED', 1]);
    expect(await harness.run(remove())).toMatchObject({ status: 'SUCCEEDED' });
    expect([harness.state.size, await harness.subscriptions()]).toEqual([0, []]);
  });

  it('of a creation over a deleted subscription is the change that others match by', async () => {
    await using harness = await openControlHarness();
    await harness.run(create('a'));
    await harness.run(remove());
    const deleted = harness.state.get('a');
    const secrets = harness.secretsOf('a');
    await createInPart(harness);
    expect(await harness.run({ commandId: 'd-2', ...remove() })).toMatchObject({ status: 'SUCCEEDED' });
    expect(harness.state.get('a')).toEqual({ ...deleted, commandId: 'd-2', sealedKeys: expect.anything() });
    expect(harness.secretsOf('a')).toEqual(secrets);
    const stale = { ...create('a'), ifMatch: 'c-1' };
    expect(await harness.run(stale)).toMatchObject({ errorCode: 'PRECONDITION_FAILED' });
    expect(await harness.run({ ...create('a'), ifMatch: 'd-2' })).toMatchObject({ status: 'SUCCEEDED' });
  });

  it('as a dry run changes nothing', async () => {
    await using harness = await openControlHarness();
    await harness.run(create('a'));
    expect(await harness.run(remove({ dryRun: true }))).toMatchObject({ status: 'SUCCEEDED', attempts: 0 });
    expect(await harness.subscriptions()).toHaveLength(1);
  });
});

describe('a deletion over an adoption that came to no end', () => {
  const LONG_AGO_MS = 10 * 60_000;
  async function unfinished(more: object = {}) {
    const harness = await openControlHarness({ deadlineMs: 1_500 });
    const seeded = await seedKnown(harness, more);
    await harness.sandbox.fail({ operation: 'update', kind: 'hang' });
    expect(await harness.run(adopt())).toMatchObject({ status: 'FAILED' });
    return { harness, seeded };
  }
  const age = (harness: ControlHarness) => {
    const record = harness.state.get('a') ?? expect.fail('no record');
    harness.state.set('a', { ...record, updatedAt: record.updatedAt - LONG_AGO_MS });
  };

  it('leaves what is elsewhere: it was never ours', async () => {
    const { harness, seeded } = await unfinished();
    await using _ = harness;
    age(harness);
    expect(await harness.run(remove({ dryRun: true }))).toMatchObject({
      message: 'dry run: its adoption would be given up',
    });
    expect(await harness.run(remove())).toMatchObject({
      status: 'SUCCEEDED',
      message: 'deleted: its adoption had not come to an end',
    });
    expect(await harness.subscriptions()).toMatchObject([{ id: seeded.id, url: seeded.url }]);
    expect(harness.state.get('a')).toBeUndefined();
  });

  it('waits while it may still come here', async () => {
    const { harness, seeded } = await unfinished();
    await using _ = harness;
    expect(await harness.run(remove())).toMatchObject({
      status: 'FAILED',
      errorCode: 'PROVIDER_UNAVAILABLE',
      message: expect.stringContaining('delete it later'),
    });
    expect(harness.state.get('a')).toMatchObject({ state: 'ACTIVE', subscriptionId: seeded.id });
  });

  it('as a dry run says what it would leave', async () => {
    await using harness = await openControlHarness();
    await harness.run(create('a'));
    const record = harness.state.get('a') ?? expect.fail('no record');
    harness.state.set('b', { ...record, ref: 'b' });
    expect(await harness.run(remove({ dryRun: true }))).toMatchObject({
      message: "dry run: the subscription would stay, as it is another ref's",
    });
  });

  it('of another ref takes nothing from the deletion of a creation: who is certain is told first', async () => {
    await using harness = await openControlHarness({ deadlineMs: 1_500 });
    await createInPart(harness);
    const [left] = await harness.subscriptions();
    harness.fixture.secrets('b', {
      'subscription-id': left?.id ?? '',
      'signing-secret': left?.signingSecret ?? '',
    });
    await harness.sandbox.fail({ operation: 'update', kind: 'hang' });
    expect(await harness.run({ ...adopt(), ref: 'b' })).toMatchObject({ status: 'FAILED' });
    expect(await harness.run(remove())).toMatchObject({ status: 'REJECTED', errorCode: 'URL_IN_USE' });
    expect(harness.state.get('a')).toMatchObject({ state: 'REQUESTED' });
  });

  it('waits while an update since may still bring it here', async () => {
    const { harness } = await unfinished();
    await using _ = harness;
    age(harness);
    await harness.sandbox.fail({ operation: 'update', kind: 'hang' });
    expect(await harness.run({ type: 'subscription.update', ref: 'a' })).toMatchObject({ status: 'FAILED' });
    expect(await harness.run(remove())).toMatchObject({
      status: 'FAILED',
      message: expect.stringContaining('delete it later'),
    });
  });

  it('removes what delivers to the address that it had before PUBLIC_URL changed', async () => {
    const { harness, seeded } = await unfinished();
    await using _ = harness;
    age(harness);
    const json = { id: seeded.id, signingSecret: seeded.signingSecret, events: ['payment_status'], url };
    await harness.sandbox.call('POST', '/_sandbox/subscriptions', { json });
    Object.assign(harness.parts, { publicUrl: 'https://new.example' });
    expect(await harness.run(remove())).toMatchObject({ status: 'SUCCEEDED', message: 'deleted' });
    expect(await harness.subscriptions()).toEqual([]);
  });

  it('goes on where the list is empty, and the state has only unfinished adoptions besides', async () => {
    const { harness, seeded } = await unfinished();
    await using _ = harness;
    const record = harness.state.get('a') ?? expect.fail('no record');
    harness.state.set('b', { ...record, ref: 'b' });
    await harness.sandbox.call('DELETE', `/_sandbox/subscriptions/${seeded.id}`);
    expect(await harness.run(remove())).toMatchObject({ status: 'SUCCEEDED' });
    expect(await harness.run({ ...remove(), ref: 'b' })).toMatchObject({ status: 'SUCCEEDED' });
  });

  it('removes what is here by then', async () => {
    const { harness, seeded } = await unfinished();
    await using _ = harness;
    await harness.sandbox.call('POST', '/_sandbox/subscriptions', {
      json: { id: seeded.id, signingSecret: seeded.signingSecret, events: ['payment_status'], url },
    });
    expect(await harness.run(remove())).toMatchObject({ status: 'SUCCEEDED', message: 'deleted' });
    expect(await harness.subscriptions()).toEqual([]);
  });

  it('leaves a deleted one before it as it was', async () => {
    await using harness = await openControlHarness({ deadlineMs: 1_500 });
    await deleteOne(harness);
    const retired = harness.state.get('a');
    const { id } = await seedKnown(harness);
    await harness.sandbox.fail({ operation: 'update', kind: 'hang' });
    await harness.run(adopt());
    age(harness);
    expect(await harness.run(remove({ commandId: 'c-9' }))).toMatchObject({ status: 'SUCCEEDED' });
    expect(await harness.subscriptions()).toMatchObject([{ id }]);
    expect(harness.state.get('a')).toMatchObject({
      state: 'RETIRED',
      subscriptionId: retired?.subscriptionId,
      updatedAt: retired?.updatedAt,
      commandId: 'c-9',
    });
    expect(harness.secretsOf('a')).toHaveProperty('signingSecret');
  });
});

it('a deletion leaves a subscription that another ref has, too', async () => {
  await using harness = await openControlHarness();
  const { subscriptionId } = await harness.run(create('a'));
  const record = harness.state.get('a') ?? expect.fail('no record');
  harness.state.set('b', { ...record, ref: 'b' });
  expect(await harness.run(remove())).toMatchObject({
    status: 'SUCCEEDED',
    message: "deleted: the subscription stays, as it is another ref's",
  });
  expect(await harness.subscriptions()).toMatchObject([{ id: subscriptionId }]);
  expect(harness.state.get('a')).toMatchObject({ state: 'RETIRED' });
});

it('a deletion removes a subscription that another ref has only begun to adopt', async () => {
  await using harness = await openControlHarness();
  await harness.run(create('a'));
  const record = harness.state.get('a') ?? expect.fail('no record');
  harness.state.set('b', { ...record, ref: 'b', sealedKeys: null, replaced: 'null' });
  expect(await harness.run(remove())).toMatchObject({ status: 'SUCCEEDED', message: 'deleted' });
  expect(await harness.subscriptions()).toEqual([]);
});

it('what the provider has lost, all of it, can be deleted when it has one under a new ref', async () => {
  await using harness = await openControlHarness();
  const command = (type: 'create' | 'delete', ref: string) =>
    harness.run({
      type: `subscription.${type}`,
      ref,
      ...(type === 'create' && { events: ['payment_status'] }),
    });
  for (const ref of ['a', 'b']) await command('create', ref);
  for (const { id } of await harness.subscriptions())
    await harness.sandbox.call('DELETE', `/_sandbox/subscriptions/${id}`);
  expect(await command('delete', 'a')).toMatchObject({
    errorCode: 'PROVIDER_ANSWER_INVALID',
    message: expect.stringContaining('create one under a ref that was never used'),
  });
  await command('create', 'new');
  for (const ref of ['a', 'b']) {
    expect(await command('delete', ref)).toMatchObject({ status: 'SUCCEEDED' });
    expect(await command('create', ref)).toMatchObject({ status: 'SUCCEEDED' });
  }
});
