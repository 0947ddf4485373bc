import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { runCommand } from '../../../src/control/run-command.ts';
import { parseSealingKeys, seal } from '../../../src/crypto/sealing.ts';
import { openSecrets } from '../../../src/subscriptions/subscription-record.ts';
import { create, openControlDesk } from '../../support/control-desk.ts';

const update = (more: object = {}) => ({ type: 'subscription.update', ref: 'a', ...more });
const EVENTS = ['payment_status', 'accounts-entries'];

describe('an update', () => {
  it('changes the events at both ends, and keeps the keys', async () => {
    await using desk = await openControlDesk();
    await desk.run(create('a'));
    const secrets = desk.secretsOf('a');
    expect(await desk.run(update({ events: EVENTS }))).toMatchObject({
      status: 'SUCCEEDED',
      httpStatus: 200,
    });
    expect(await desk.subscriptions()).toMatchObject([{ events: ['payment-status', 'accounts-entries'] }]);
    expect(desk.state.get('a')).toMatchObject({
      state: 'ACTIVE',
      events: ['payment-status', 'accounts-entries'],
    });
    expect(desk.secretsOf('a')).toEqual(secrets);
  });

  it('seals the keys anew after a rotation, so that the old sealing key is needed no longer', async () => {
    await using desk = await openControlDesk();
    await desk.run(create('a'));
    const secrets = desk.secretsOf('a');
    const next = parseSealingKeys(randomBytes(32)) ?? expect.fail('no key');
    const rotated = { current: next.current, all: [next.current, ...desk.parts.sealingKeys.all] };
    const record = desk.recordOf({ commandId: 'c-2', ...update({ events: EVENTS }) });
    await runCommand(record, { ...desk.parts, sealingKeys: rotated }, desk.lease);
    expect(desk.results.at(-1)).toMatchObject({ status: 'SUCCEEDED' });
    const after = desk.state.get('a') ?? expect.fail('no record');
    expect(openSecrets(next, after, after.sealedKeys ?? Buffer.of())).toEqual(secrets);
  });

  it('seals keys of format 1 anew in format 2', async () => {
    await using desk = await openControlDesk();
    await desk.run(create('a'));
    const [record, secrets] = [desk.state.get('a') ?? expect.fail('no record'), desk.secretsOf('a')];
    const old = { format: 1, aad: Buffer.from('a') };
    const sealedKeys = seal(desk.parts.sealingKeys, old, Buffer.from(JSON.stringify(secrets)));
    desk.state.set('a', { ...record, sealedKeys });
    expect(await desk.run(update())).toMatchObject({ status: 'SUCCEEDED' });
    expect([desk.state.get('a')?.sealedKeys?.[0], desk.secretsOf('a')]).toEqual([2, secrets]);
  });

  it('keeps what no sealing key opens', async () => {
    await using desk = await openControlDesk();
    await desk.run(create('a'));
    const sealed = desk.state.get('a')?.sealedKeys;
    const other = parseSealingKeys(randomBytes(32)) ?? expect.fail('no key');
    const record = desk.recordOf({ commandId: 'c-2', ...update() });
    await runCommand(record, { ...desk.parts, sealingKeys: other }, desk.lease);
    expect(desk.state.get('a')?.sealedKeys).toEqual(sealed);
  });

  it('without events tells the provider again what it should have', async () => {
    await using desk = await openControlDesk();
    await desk.run(create('a', { events: EVENTS }));
    const [{ id, url, signingSecret } = expect.fail()] = await desk.subscriptions();
    await desk.seed({ id, signingSecret, url: 'https://elsewhere.example/', events: ['collection-status'] });
    expect(await desk.run(update())).toMatchObject({ status: 'SUCCEEDED' });
    expect(await desk.subscriptions()).toMatchObject([
      { url, events: ['payment-status', 'accounts-entries'] },
    ]);
  });

  it('without events, of a subscription whose events nobody knows, leaves them as they are', async () => {
    await using desk = await openControlDesk();
    const { id, signingSecret } = await desk.seed({ events: EVENTS });
    desk.world.secrets('a', { 'subscription-id': id, 'signing-secret': signingSecret });
    await desk.sandbox.fail({ operation: 'list', kind: 'alter', remove: ['/0/events'] });
    expect(await desk.run({ type: 'subscription.adopt', ref: 'a' })).toMatchObject({ status: 'SUCCEEDED' });
    expect(desk.state.get('a')?.events).toEqual([]);
    expect(await desk.run(update({ dryRun: true }))).toMatchObject({
      message: 'dry run: would subscribe to the events that it has',
    });
    expect(await desk.run(update())).toMatchObject({ status: 'SUCCEEDED' });
    expect(await desk.subscriptions()).toMatchObject([{ events: ['payment-status', 'accounts-entries'] }]);
  });

  it('tells the encryption key that is in force: that of SECRETS_DIR before that of the state', async () => {
    const dialect = '{"update":{"body":{"url":"{url}","encryptionKey":"{encryptionKey}"}}}';
    await using desk = await openControlDesk({ dialect });
    await desk.run(create('a'));
    const [{ id, encryptionKey } = expect.fail()] = await desk.subscriptions();
    await desk.provider.api.update(id, { events: EVENTS }, {});
    const bodies: unknown[] = [];
    desk.hooks.onCall = ({ body }) => bodies.push(body);
    await desk.run(update());
    desk.world.secrets('a', { 'encryption-key': 'k'.repeat(32) });
    await desk.run(update());
    expect(bodies).toMatchObject([{ encryptionKey }, { encryptionKey: 'k'.repeat(32) }]);
  });

  it('of what the provider no longer has has FAILED, and the state says what it said', async () => {
    await using desk = await openControlDesk();
    await desk.run(create('a'));
    const before = desk.state.get('a');
    await desk.sandbox.call('DELETE', `/_sandbox/subscriptions/${before?.subscriptionId}`);
    expect(await desk.run(update({ events: EVENTS }))).toMatchObject({
      status: 'FAILED',
      errorCode: 'SUBSCRIPTION_NOT_FOUND',
      message: expect.stringContaining('delete and create it'),
    });
    expect(desk.state.get('a')).toEqual(before);
  });

  it.each([
    ['that nobody created', []],
    ['that was deleted', [create('a'), { type: 'subscription.delete', ref: 'a' }]],
  ])('of a ref %s is REJECTED', async (_, before) => {
    await using desk = await openControlDesk();
    for (const command of before) await desk.run(command);
    expect(await desk.run(update())).toMatchObject({ status: 'REJECTED', errorCode: 'UNKNOWN_REF' });
  });
});
