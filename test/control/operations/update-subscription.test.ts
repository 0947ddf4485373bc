import { randomBytes, randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { runCommand } from '../../../src/control/run-command.ts';
import { parseSealingKeys, seal } from '../../../src/crypto/sealing.ts';
import { refKeys } from '../../../src/subscriptions/keyring.ts';
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
    const record = harness.state.get('a') ?? expect.fail('no record');
    const secrets = harness.secretsOf('a');
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

describe('an update that tells another encryption key', () => {
  const dialect = '{"update":{"body":{"url":"{url}","encryptionKey":"{encryptionKey}"}}}';
  const next = 'n'.repeat(32);
  const LONG_MS = 10 * 366 * 86_400_000;

  /** A harness with ref `a`, whose key in SECRETS_DIR is a new one; and what the state alone opens. */
  async function harnessWithNewKey() {
    const harness = await openControlHarness({ dialect });
    const { subscriptionId } = await harness.run(create('a'));
    const first = harness.secretsOf('a')?.encryptionKey ?? expect.fail('no key');
    harness.fixture.secrets('a', { 'encryption-key': next });
    const openers = (now = Date.now()) => {
      const record = harness.state.get('a') ?? expect.fail('no record');
      const secrets = harness.secretsOf('a');
      const keys = refKeys({ record, secrets }, 60_000, now)?.encryption ?? [];
      return keys.map(({ key }) => key.export().toString());
    };
    return { harness, first, openers, subscriptionId, [Symbol.asyncDispose]: harness[Symbol.asyncDispose] };
  }

  it('has both in the state before the provider is told, and then takes the new one for its own', async () => {
    await using the = await harnessWithNewKey();
    const { harness, first, openers } = the;
    let atCall: string[] = [];
    harness.hooks.onCall = ({ method }) => {
      if (method === 'PUT') atCall = openers(Date.now() + LONG_MS);
    };
    expect(await harness.run(update())).toMatchObject({ status: 'SUCCEEDED' });
    expect(await harness.subscriptions()).toMatchObject([{ encryptionKey: next }]);
    expect(atCall).toEqual([first, next]);
    expect(openers()).toEqual([next, first]);
    expect(openers(Date.now() + LONG_MS)).toEqual([next]);
    // The file is needed no longer: the same key is told again.
    harness.fixture.secrets('a', { 'encryption-key': '' });
    expect(await harness.run(update())).toMatchObject({ status: 'SUCCEEDED' });
    expect(await harness.subscriptions()).toMatchObject([{ encryptionKey: next }]);
    expect(openers()).toEqual([next, first]);
  });

  it('keeps both for as long as the subscription where it is not known whether the provider has taken it', async () => {
    await using the = await harnessWithNewKey();
    const { harness, first, openers } = the;
    for (const _ of [1, 2]) {
      await harness.sandbox.fail({ operation: 'update', kind: 'status', code: 422 });
      expect(await harness.run(update())).toMatchObject({ status: 'FAILED' });
    }
    expect(openers(Date.now() + LONG_MS)).toEqual([first, next]);
    expect(harness.secretsOf('a')?.previous).toHaveLength(1);
    await harness.run({ type: 'subscription.delete', ref: 'a' });
    expect(openers(Date.now() + LONG_MS)).toEqual([]);
    await harness.run(create('a'));
    const carried = harness.secretsOf('a')?.previous ?? [];
    expect(carried.map(({ encryptionKey }) => encryptionKey)).toEqual([first, next]);
    for (const { retiredAt } of carried) expect(retiredAt).toBeLessThanOrEqual(Date.now());
  });

  it('knows it after a crash behind the call', async () => {
    await using the = await harnessWithNewKey();
    const { harness, first, openers } = the;
    const record = harness.recordOf({ commandId: 'u-1', ...update() });
    let isTold = false;
    harness.hooks.onCall = ({ method }) => {
      isTold ||= method === 'PUT';
    };
    harness.hooks.onWrite = () => {
      if (isTold) throw killed();
    };
    await expect(harness.take(record)).rejects.toMatchObject({ code: 'PUBLISHER_CLOSED' });
    expect(openers(Date.now() + LONG_MS)).toEqual([first, next]);
    delete harness.hooks.onWrite;
    await harness.take(record);
    expect(openers()).toEqual([next, first]);
  });

  describe.each(['update', 'adopt'])('as an %s beside keys that nothing opens', (verb) => {
    const arrange = async () => {
      const the = await harnessWithNewKey();
      const { harness } = the;
      const before = harness.state.get('a') ?? expect.fail('no record');
      const [one = expect.fail('none')] = await harness.subscriptions();
      const files = { 'subscription-id': one.id, 'signing-secret': one.signingSecret };
      if (verb === 'adopt') harness.fixture.secrets('a', { ...files, 'encryption-key': next });
      const sealingKeys = parseSealingKeys(randomBytes(32)) ?? expect.fail('no key');
      const run = async (more: object) => {
        const command = { type: `subscription.${verb}`, ref: 'a', events: ['accounts-entries'], ...more };
        await runCommand(harness.recordOf(command), { ...harness.parts, sealingKeys }, harness.lease);
        return harness.results.at(-1);
      };
      const dispose = the[Symbol.asyncDispose];
      return { harness, before, one, sealingKeys, run, [Symbol.asyncDispose]: dispose };
    };

    it('is REJECTED', async () => {
      await using the = await arrange();
      const { harness, before, one } = the;
      for (const dryRun of [true, false])
        expect(await the.run({ commandId: randomUUID(), dryRun })).toMatchObject({
          status: 'REJECTED',
          errorCode: 'KEYS_SEALED',
        });
      expect([harness.state.get('a'), await harness.subscriptions()]).toEqual([before, [one]]);
    });

    it('gives them up where ifMatch permits it, and has the new one in the state before the provider is told', async () => {
      await using the = await arrange();
      const { harness, before, sealingKeys } = the;
      const state = () => {
        const record = harness.state.get('a') ?? expect.fail('no record');
        const secrets = record.sealedKeys && openSecrets(sealingKeys, record, record.sealedKeys);
        return refKeys({ record, secrets }, 60_000, Date.now())?.encryption.map(
          ({ key }) => `${key.export()}`,
        );
      };
      let atCall: unknown;
      harness.hooks.onCall = ({ method }) => {
        if (method === 'PUT') atCall = state();
      };
      const result = await the.run({ commandId: randomUUID(), ifMatch: before.commandId });
      expect(result).toMatchObject({ status: 'SUCCEEDED' });
      expect([atCall, state()]).toEqual([[next], [next]]);
    });
  });

  it('shuts none of eight earlier subscriptions out', async () => {
    await using the = await harnessWithNewKey();
    const { harness } = the;
    harness.fixture.secrets('a', { 'encryption-key': '' });
    for (let n = 0; n < 8; n++) {
      await harness.run({ type: 'subscription.delete', ref: 'a' });
      await harness.run(create('a'));
    }
    harness.fixture.secrets('a', { 'encryption-key': next });
    expect(await harness.run(update())).toMatchObject({ status: 'SUCCEEDED' });
    const record = harness.state.get('a') ?? expect.fail('no record');
    const secrets = harness.secretsOf('a');
    expect(refKeys({ record, secrets }, 60_000, Date.now())?.signing).toHaveLength(9);
  });

  it('shuts no earlier subscription out, however often the key changes', async () => {
    await using the = await harnessWithNewKey();
    const { harness } = the;
    const anew = async () => {
      await harness.run({ type: 'subscription.delete', ref: 'a' });
      await harness.run(create('a'));
    };
    await anew();
    for (const n of [1, 2, 3, 4, 5, 6, 7, 8]) {
      harness.fixture.secrets('a', { 'encryption-key': `${n}`.repeat(32) });
      await harness.run(update());
    }
    await anew();
    const secrets = harness.secretsOf('a');
    expect(secrets?.previous?.filter((one) => one.signingSecret !== undefined)).toHaveLength(2);
    const record = harness.state.get('a') ?? expect.fail('no record');
    const dir = 's'.repeat(36);
    const files = { subscriptionIds: [], signingSecrets: [dir], encryptionKeys: [] };
    expect(refKeys({ record, secrets, dir: files }, 60_000, Date.now())?.signing).toHaveLength(3);
  });
});
