import { describe, expect, it } from 'vitest';
import { create, NEARLY_ALL_MS, openControlDesk, passTime } from '../../support/control-desk.ts';

const remove = (more: object = {}) => ({ type: 'subscription.delete', ref: 'a', ...more });

describe('a deletion', () => {
  it('removes the subscription and keeps its keys for deliveries under way', async () => {
    await using desk = await openControlDesk();
    await desk.run(create('a'));
    const secrets = desk.secretsOf('a');
    const { subscriptionId } = desk.state.get('a') ?? {};
    expect(await desk.run(remove())).toMatchObject({ status: 'SUCCEEDED', httpStatus: 204, subscriptionId });
    expect(await desk.subscriptions()).toEqual([]);
    expect(desk.state.get('a')).toMatchObject({ state: 'RETIRED', subscriptionId });
    expect(desk.secretsOf('a')).toEqual(secrets);
  });

  it('of what is gone has succeeded, at whichever end it is gone', async () => {
    await using desk = await openControlDesk();
    expect(await desk.run(remove())).toMatchObject({ status: 'SUCCEEDED', attempts: 0 });
    await desk.run(create('a'));
    await desk.sandbox.call('DELETE', `/_sandbox/subscriptions/${desk.state.get('a')?.subscriptionId}`);
    expect(await desk.run(remove())).toMatchObject({
      status: 'SUCCEEDED',
      message: 'deleted: the provider no longer had it',
    });
    expect(await desk.run(remove())).toMatchObject({ status: 'SUCCEEDED', attempts: 0 });
  });

  it('whose answer is lost is asked for again', async () => {
    await using desk = await openControlDesk();
    await desk.run(create('a'));
    await desk.sandbox.fail({ operation: 'delete', kind: 'drop-after' });
    expect(await desk.run(remove())).toMatchObject({ status: 'SUCCEEDED', httpStatus: 404, attempts: 2 });
  });

  it('that is refused leaves everything', async () => {
    await using desk = await openControlDesk();
    await desk.run(create('a'));
    const before = desk.state.get('a');
    await desk.sandbox.fail({ operation: 'delete', kind: 'status', code: 403 });
    expect(await desk.run(remove())).toMatchObject({ status: 'FAILED', errorCode: 'PROVIDER_REFUSED' });
    expect([desk.state.get('a'), (await desk.subscriptions()).length]).toEqual([before, 1]);
  });

  it('of a creation that came to no end removes what that has left', async () => {
    await using desk = await openControlDesk();
    passTime(desk, 'POST', NEARLY_ALL_MS);
    await desk.sandbox.fail(
      { operation: 'list', kind: 'status', code: 200, body: [] },
      { operation: 'create', kind: 'drop-after' },
      { operation: 'list', kind: 'status', code: 503, headers: { 'Retry-After': '60' } },
    );
    await desk.run(create('a'));
    expect([desk.state.get('a')?.state, (await desk.subscriptions()).length]).toEqual(['REQUESTED', 1]);
    expect(await desk.run(remove())).toMatchObject({ status: 'SUCCEEDED' });
    expect([desk.state.size, await desk.subscriptions()]).toEqual([0, []]);
  });

  it('as a dry run changes nothing', async () => {
    await using desk = await openControlDesk();
    await desk.run(create('a'));
    expect(await desk.run(remove({ dryRun: true }))).toMatchObject({ status: 'SUCCEEDED', attempts: 0 });
    expect(await desk.subscriptions()).toHaveLength(1);
  });
});
