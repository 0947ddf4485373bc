import { describe, expect, it } from 'vitest';
import { createInPart } from '../../support/adoptions.ts';
import { create, NEARLY_ALL_MS, openControlHarness, passTime } from '../../support/control-harness.ts';

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
    expect(await harness.run(remove())).toMatchObject({ status: 'SUCCEEDED', httpStatus: 404, attempts: 2 });
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
