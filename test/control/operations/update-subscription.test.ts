import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { runCommand } from '../../../src/control/run-command.ts';
import { parseSealingKeys, seal } from '../../../src/crypto/sealing.ts';
import { openSecrets } from '../../../src/subscriptions/subscription-record.ts';
import { create, killed, openControlHarness } from '../../support/control-harness.ts';

const update = (more: object = {}) => ({ type: 'subscription.update', ref: 'a', ...more });
const EVENTS = ['payment_status', 'accounts-entries'];

describe('an update', () => {
  it('changes the events at both ends, and keeps the keys', async () => {
    await using harness = await openControlHarness();
    await harness.run(create('a'));
    const secrets = harness.secretsOf('a');
    expect(await harness.run(update({ events: EVENTS }))).toMatchObject({
      status: 'SUCCEEDED',
      httpStatus: 200,
    });
    expect(await harness.subscriptions()).toMatchObject([{ events: ['payment-status', 'accounts-entries'] }]);
    expect(harness.state.get('a')).toMatchObject({
      state: 'ACTIVE',
      events: ['payment-status', 'accounts-entries'],
    });
    expect(harness.secretsOf('a')).toEqual(secrets);
  });

  it('seals the keys anew after a rotation, so that the old sealing key is needed no longer', async () => {
    await using harness = await openControlHarness();
    await harness.run(create('a'));
    const secrets = harness.secretsOf('a');
    const next = parseSealingKeys(randomBytes(32)) ?? expect.fail('no key');
    const rotated = { current: next.current, all: [next.current, ...harness.parts.sealingKeys.all] };
    const record = harness.recordOf({ commandId: 'c-2', ...update({ events: EVENTS }) });
    await runCommand(record, { ...harness.parts, sealingKeys: rotated }, harness.lease);
    expect(harness.results.at(-1)).toMatchObject({ status: 'SUCCEEDED' });
    const after = harness.state.get('a') ?? expect.fail('no record');
    expect(openSecrets(next, after, after.sealedKeys ?? Buffer.of())).toEqual(secrets);
  });

  it('seals keys of format 1 anew in format 2', async () => {
    await using harness = await openControlHarness();
    await harness.run(create('a'));
    const [record, secrets] = [harness.state.get('a') ?? expect.fail('no record'), harness.secretsOf('a')];
    const old = { format: 1, aad: Buffer.from('a') };
    const sealedKeys = seal(harness.parts.sealingKeys, old, Buffer.from(JSON.stringify(secrets)));
    harness.state.set('a', { ...record, sealedKeys });
    expect(await harness.run(update())).toMatchObject({ status: 'SUCCEEDED' });
    expect([harness.state.get('a')?.sealedKeys?.[0], harness.secretsOf('a')]).toEqual([2, secrets]);
  });

  it('keeps what no sealing key opens', async () => {
    await using harness = await openControlHarness();
    await harness.run(create('a'));
    const sealed = harness.state.get('a')?.sealedKeys;
    const other = parseSealingKeys(randomBytes(32)) ?? expect.fail('no key');
    const record = harness.recordOf({ commandId: 'c-2', ...update() });
    await runCommand(record, { ...harness.parts, sealingKeys: other }, harness.lease);
    expect(harness.state.get('a')?.sealedKeys).toEqual(sealed);
  });

  it('without events tells the provider again what it should have', async () => {
    await using harness = await openControlHarness();
    await harness.run(create('a', { events: EVENTS }));
    const [{ id, url, signingSecret } = expect.fail()] = await harness.subscriptions();
    await harness.seed({
      id,
      signingSecret,
      url: 'https://elsewhere.example/',
      events: ['collection-status'],
    });
    expect(await harness.run(update())).toMatchObject({ status: 'SUCCEEDED' });
    expect(await harness.subscriptions()).toMatchObject([
      { url, events: ['payment-status', 'accounts-entries'] },
    ]);
  });

  it('without events, of a subscription whose events nobody knows, leaves them as they are', async () => {
    await using harness = await openControlHarness();
    const { id, signingSecret } = await harness.seed({ events: EVENTS });
    harness.fixture.secrets('a', { 'subscription-id': id, 'signing-secret': signingSecret });
    await harness.sandbox.fail({ operation: 'list', kind: 'alter', remove: ['/0/events'] });
    expect(await harness.run({ type: 'subscription.adopt', ref: 'a' })).toMatchObject({
      status: 'SUCCEEDED',
    });
    expect(harness.state.get('a')?.events).toEqual([]);
    expect(await harness.run(update({ dryRun: true }))).toMatchObject({
      message: 'dry run: would subscribe to the events that it has',
    });
    expect(await harness.run(update())).toMatchObject({ status: 'SUCCEEDED' });
    expect(await harness.subscriptions()).toMatchObject([{ events: ['payment-status', 'accounts-entries'] }]);
  });

  it('tells the encryption key that is in force: that of SECRETS_DIR before that of the state', async () => {
    const dialect = '{"update":{"body":{"url":"{url}","encryptionKey":"{encryptionKey}"}}}';
    await using harness = await openControlHarness({ dialect });
    await harness.run(create('a'));
    const [{ id, encryptionKey } = expect.fail()] = await harness.subscriptions();
    await harness.provider.api.update(id, { events: EVENTS }, {});
    const bodies: unknown[] = [];
    harness.hooks.onCall = ({ body }) => bodies.push(body);
    await harness.run(update());
    harness.fixture.secrets('a', { 'encryption-key': 'k'.repeat(32) });
    await harness.run(update());
    expect(bodies).toMatchObject([{ encryptionKey }, { encryptionKey: 'k'.repeat(32) }]);
  });

  it('that was complete before a crash has succeeded, whatever the provider answers now', async () => {
    await using harness = await openControlHarness();
    await harness.run(create('a'));
    const record = harness.recordOf({ commandId: 'u-1', ...update({ events: EVENTS }) });
    harness.hooks.onWrite = (what) => {
      if (what === 'result') throw killed();
    };
    await expect(harness.take(record)).rejects.toMatchObject({ code: 'PUBLISHER_CLOSED' });
    delete harness.hooks.onWrite;
    await harness.sandbox.fail({ operation: 'update', kind: 'status', code: 422 });
    await harness.take(record);
    expect(harness.results.at(-1)).toMatchObject({ status: 'SUCCEEDED', message: 'updated' });
  });

  it('of what the provider no longer has has FAILED, and the state says what it said', async () => {
    await using harness = await openControlHarness();
    await harness.run(create('a'));
    const before = harness.state.get('a');
    await harness.sandbox.call('DELETE', `/_sandbox/subscriptions/${before?.subscriptionId}`);
    expect(await harness.run(update({ events: EVENTS }))).toMatchObject({
      status: 'FAILED',
      errorCode: 'SUBSCRIPTION_NOT_FOUND',
      message: expect.stringContaining('create it anew, with ifMatch'),
    });
    expect(harness.state.get('a')).toEqual(before);
  });

  it.each([
    ['that nobody created', []],
    ['that was deleted', [create('a'), { type: 'subscription.delete', ref: 'a' }]],
  ])('of a ref %s is REJECTED', async (_, before) => {
    await using harness = await openControlHarness();
    for (const command of before) await harness.run(command);
    expect(await harness.run(update())).toMatchObject({ status: 'REJECTED', errorCode: 'UNKNOWN_REF' });
  });
});
