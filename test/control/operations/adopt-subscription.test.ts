import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { type ControlDesk, create, killed, openControlDesk, PUBLIC_URL } from '../../support/control-desk.ts';

const url = `${PUBLIC_URL}/webhooks/a`;
const adopt = (more: object = {}) => ({ type: 'subscription.adopt', ref: 'a', ...more });

/** A foreign subscription whose secrets are in SECRETS_DIR. */
async function seedKnown(desk: ControlDesk, more: object = {}) {
  const seeded = await desk.seed(more);
  desk.world.secrets('a', { 'subscription-id': seeded.id, 'signing-secret': seeded.signingSecret });
  return seeded;
}

describe('an adoption', () => {
  it('takes a subscription over: it delivers here, and has the events that it had', async () => {
    await using desk = await openControlDesk();
    const { id } = await seedKnown(desk, { events: ['accounts-entries'] });
    expect(await desk.run(adopt())).toMatchObject({ status: 'SUCCEEDED', subscriptionId: id });
    expect(await desk.subscriptions()).toMatchObject([{ id, url, events: ['accounts-entries'] }]);
    expect(desk.state.get('a')).toMatchObject({
      state: 'ACTIVE',
      subscriptionId: id,
      events: ['accounts-entries'],
    });
  });

  it('knows the subscription before it delivers here', async () => {
    await using desk = await openControlDesk();
    const { id } = await seedKnown(desk);
    const known: unknown[] = [];
    desk.hooks.onCall = ({ method }) => {
      if (method === 'PUT') known.push(desk.state.get('a')?.subscriptionId);
    };
    await desk.run(adopt());
    expect(known).toEqual([id]);
  });

  it('of one that delivers here already asks for no change', async () => {
    await using desk = await openControlDesk();
    await seedKnown(desk, { url });
    expect(await desk.run(adopt())).toMatchObject({ status: 'SUCCEEDED', attempts: 1 });
    expect(await desk.provider.logged('update')).toEqual([]);
  });

  it('takes extra along, also where nothing else is to be changed', async () => {
    await using desk = await openControlDesk({ dialect: '{"extra":{"allow":["label"]}}' });
    await seedKnown(desk, { url });
    expect(await desk.run(adopt({ extra: { label: 'ours' } }))).toMatchObject({ status: 'SUCCEEDED' });
    expect(await desk.subscriptions()).toMatchObject([{ url, extra: { label: 'ours' } }]);
  });

  it('can not be led elsewhere by extra', async () => {
    await using desk = await openControlDesk();
    const seeded = await seedKnown(desk);
    const evil = { url: 'https://evil.example/', events: [] };
    expect(await desk.run(adopt({ extra: evil }))).toMatchObject({
      status: 'REJECTED',
      errorCode: 'EXTRA_CONFLICT',
      message: expect.stringContaining('extra.url would set the address; extra.events would set the events'),
    });
    expect(await desk.subscriptions()).toMatchObject([{ url: seeded.url }]);
  });

  it('without the signing secret is REJECTED', async () => {
    await using desk = await openControlDesk();
    const { id } = await desk.seed();
    expect(await desk.run(adopt())).toMatchObject({ status: 'REJECTED', errorCode: 'KEYS_MISSING' });
    desk.world.secrets('a', { 'subscription-id': id, 'signing-secret': 'short' });
    expect(await desk.run(adopt())).toMatchObject({ status: 'REJECTED', errorCode: 'KEYS_INVALID' });
  });

  it('of an id that can be no part of a signing key has FAILED', async () => {
    await using desk = await openControlDesk();
    await desk.seed({ url });
    desk.world.secrets('a', { 'signing-secret': randomUUID() });
    await desk.sandbox.fail({ operation: 'list', kind: 'alter', set: { '/0/id': 'short' } });
    expect(await desk.run(adopt())).toMatchObject({ status: 'FAILED', errorCode: 'PROVIDER_ANSWER_INVALID' });
    expect(desk.state.size).toBe(0);
  });

  it.each([
    ['is refused', { kind: 'status', code: 422 }, 'PROVIDER_REFUSED'],
    ['finds it gone by then', { kind: 'status', code: 404 }, 'SUBSCRIPTION_NOT_FOUND'],
  ])('that %s has FAILED, and the ref is as it was', async (_, fault, errorCode) => {
    await using desk = await openControlDesk();
    await seedKnown(desk);
    await desk.sandbox.fail({ operation: 'update', ...fault });
    expect(await desk.run(adopt())).toMatchObject({ status: 'FAILED', errorCode });
    expect(desk.state.size).toBe(0);
  });

  it('for a ref that has another subscription is REJECTED', async () => {
    await using desk = await openControlDesk();
    await desk.run(create('a'));
    await seedKnown(desk);
    expect(await desk.run(adopt())).toMatchObject({ status: 'REJECTED', errorCode: 'REF_IN_USE' });
  });

  it('over a deleted subscription keeps its keys as what they are: those of another one', async () => {
    await using desk = await openControlDesk();
    await desk.run(create('a'));
    const old = desk.secretsOf('a');
    await desk.run({ type: 'subscription.delete', ref: 'a' });
    const { subscriptionId } = desk.state.get('a') ?? {};
    await seedKnown(desk);
    expect(await desk.run(adopt())).toMatchObject({ status: 'SUCCEEDED' });
    expect(desk.secretsOf('a')).toEqual({
      previous: [{ subscriptionId, ...old, retiredAt: expect.any(Number) }],
    });
  });

  it('of one that the ref had before takes its keys up again', async () => {
    await using desk = await openControlDesk();
    await desk.run(create('a'));
    const [{ id, signingSecret } = expect.fail()] = await desk.subscriptions();
    const secrets = desk.secretsOf('a');
    await desk.run({ type: 'subscription.delete', ref: 'a' });
    await seedKnown(desk, { id, signingSecret });
    expect(await desk.run(adopt())).toMatchObject({ status: 'SUCCEEDED', subscriptionId: id });
    expect(desk.secretsOf('a')).toEqual(secrets);
  });

  it('over a creation that came to no end seals its encryption key for the adopted one', async () => {
    await using desk = await openControlDesk();
    const record = desk.recordOf({ commandId: 'c-1', ...create('a') });
    desk.hooks.onWrite = () => {
      if (desk.state.get('a')?.state === 'REQUESTED') throw killed();
    };
    await expect(desk.take(record)).rejects.toMatchObject({ code: 'PUBLISHER_CLOSED' });
    delete desk.hooks.onWrite;
    const intended = desk.secretsOf('a');
    await seedKnown(desk);
    expect(await desk.run(adopt())).toMatchObject({ status: 'SUCCEEDED' });
    expect([desk.state.get('a')?.state, desk.secretsOf('a')]).toEqual(['ACTIVE', intended]);
  });

  it('as a dry run, or of what is not there, changes nothing', async () => {
    await using desk = await openControlDesk();
    const { id } = await seedKnown(desk);
    expect(await desk.run(adopt({ dryRun: true }))).toMatchObject({
      status: 'SUCCEEDED',
      subscriptionId: id,
    });
    await desk.sandbox.call('DELETE', `/_sandbox/subscriptions/${id}`);
    expect(await desk.run(adopt())).toMatchObject({ status: 'FAILED', errorCode: 'SUBSCRIPTION_NOT_FOUND' });
    expect(desk.written).toEqual([]);
  });
});
