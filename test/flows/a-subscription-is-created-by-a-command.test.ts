import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { compileCodec } from '../../src/avro/record-codec.ts';
import { readSchemaFiles } from '../../src/avro/schema-files.ts';
import { cli, cliJson } from '../support/cli.ts';
import { ControlFixture, type Result } from '../support/control-fixture.ts';

let the: ControlFixture;

beforeAll(async () => {
  the = await ControlFixture.make(inject('stack'), {
    PROVIDER_DIALECT_FILE: 'test/support/dialect-with-description.json',
  });
});

afterAll(() => the[Symbol.asyncDispose]());

const create = (ref: string, more: object = {}) =>
  the.run({ type: 'subscription.create', ref, events: ['payment_status', 'accounts-entries'], ...more });

describe('a subscription', () => {
  it('is created by a message, and its webhooks are verified, opened and stored without a restart', async () => {
    const result = await create('ledger-eu', { issuedBy: 'ledger' });
    expect(result).toMatchObject({
      status: 'SUCCEEDED',
      httpStatus: 201,
      errorCode: null,
      issuedBy: 'ledger',
    });
    const [subscription] = await the.subscriptions();
    expect(subscription).toMatchObject({
      id: result.subscriptionId,
      url: `${the.ingress.url}/webhooks/ledger-eu`,
    });
    expect(subscription?.encryptionKey).toHaveLength(32);
    const executions = [
      ...(await the.trigger({ ref: 'ledger-eu' })),
      ...(await the.trigger({ ref: 'ledger-eu', sealed: true })),
    ];
    expect(executions.map(({ status }) => status)).toEqual([200, 200]);
    const records = await the.fixture.read('payment-status', 2);
    expect(records.map(({ record }) => record?.subscription)).toEqual(['ledger-eu', 'ledger-eu']);
  });

  it('stands in the compacted state, its secrets sealed, and in no log', async () => {
    await create('sealed-one');
    const subscription =
      (await the.subscriptions()).find(({ url }) => url.endsWith('/sealed-one')) ?? expect.fail();
    expect(await the.state('sealed-one')).toMatchObject({
      ref: 'sealed-one',
      state: 'ACTIVE',
      subscriptionId: subscription.id,
      receiverUrl: subscription.url,
      events: ['payment-status', 'accounts-entries'],
      owner: the.fixture.topic('commands'),
    });
    const raw = (await the.fixture.read('subscriptions'))
      .map(({ value }) => value?.toString('latin1'))
      .join();
    const said = [raw, the.fixture.logs()].join('\n');
    for (const secret of [subscription.signingSecret, subscription.encryptionKey])
      expect(said).not.toContain(secret);
  });

  it('can be asked for in Avro as well as in JSON, and by the CLI', async () => {
    const [file] = readSchemaFiles(undefined, 'commands').filter(({ name }) => name.endsWith('command.avsc'));
    const subject = `${the.fixture.topic('commands')}-value`;
    const versions = await fetch(
      `${the.fixture.env.SCHEMA_REGISTRY_URL}/subjects/${subject}/versions/latest`,
    );
    const { id } = (await versions.json()) as { id: number };
    const commandId = randomUUID();
    const command = {
      commandId,
      type: 'subscription.create',
      ref: 'by-avro',
      events: ['payment-status'],
      executionIds: null,
      extra: '{"description":"by Avro"}',
      issuedBy: null,
      issuedAt: Date.now(),
      expiresAt: Date.now() + 60_000,
      dryRun: false,
    };
    await the.send('by-avro', compileCodec(JSON.parse(file?.text ?? '')).encode(command, id, 200));
    expect(await the.result(commandId)).toMatchObject({ status: 'SUCCEEDED' });
    const args = [
      'command',
      'subscription.create',
      '--ref',
      'by-cli',
      '--events',
      'collection-status',
      '--wait',
    ];
    const [result] = await cliJson<Result[]>(the.fixture.env, ...args);
    expect(result).toMatchObject({ status: 'SUCCEEDED', ref: 'by-cli' });
    const again = await cli(the.fixture.env, ...args);
    expect([again.exitCode, again.out]).toEqual([1, expect.stringMatching(/^errorCode +REF_IN_USE$/m)]);
    expect(again.out).toMatch(/^finishedAt +\d{4}-\d\d-\d\dT[\d:.]+Z$/m);
    expect(again.out).not.toMatch(/^subscriptionId|null/m);
    const listed = await cli(the.fixture.env, 'command', 'subscription.list', '--wait');
    expect(listed.out).toMatch(/^status +SUCCEEDED$/m);
    expect(listed.out).toMatch(/^\S+ .*\/webhooks\/by-cli .*collection-status/m);
  });

  it('is changed, listed and deleted; its keys stay live for deliveries that are under way', async () => {
    const { subscriptionId } = await create('changing');
    const update = await the.run({
      type: 'subscription.update',
      ref: 'changing',
      events: ['collection-status'],
    });
    expect(update).toMatchObject({ status: 'SUCCEEDED', subscriptionId });
    const list = await the.run({ type: 'subscription.list' });
    expect(list.subscriptions).toContainEqual({
      subscriptionId,
      ref: 'changing',
      url: `${the.ingress.url}/webhooks/changing`,
      events: ['collection-status'],
    });
    const [before] = await the.trigger({ ref: 'changing', event: 'collection-status' });
    const secrets = (await the.subscriptions()).find(({ id }) => id === subscriptionId) ?? expect.fail();
    expect(await the.run({ type: 'subscription.delete', ref: 'changing' })).toMatchObject({
      status: 'SUCCEEDED',
      httpStatus: 204,
    });
    expect(await the.state('changing')).toMatchObject({ state: 'RETIRED' });
    const { id, url, signingSecret, encryptionKey } = secrets;
    const events = ['collection-status'];
    const json = { id, url, signingSecret, encryptionKey, events };
    await the.sandbox.call('POST', '/_sandbox/subscriptions', { json });
    const [late] = await the.trigger({ ref: 'changing', event: 'collection-status' });
    expect([before?.status, late?.status]).toEqual([200, 200]);
    await the.sandbox.call('DELETE', `/_sandbox/subscriptions/${subscriptionId}`);
    expect(await the.run({ type: 'subscription.delete', ref: 'changing' })).toMatchObject({
      status: 'SUCCEEDED',
    });
    expect(await the.run({ type: 'subscription.update', ref: 'changing' })).toMatchObject({
      errorCode: 'UNKNOWN_REF',
    });
  });

  it('has missed webhooks sent again: the same event, told by its id', async () => {
    await create('replayed');
    const [first] = await the.trigger({ ref: 'replayed', event: 'accounts-entries' });
    const { eventId } = JSON.parse(first?.responseBody ?? '');
    const replay = await the.run({ type: 'webhook.replay', ref: 'replayed', executionIds: [first?.id] });
    expect(replay).toMatchObject({ status: 'SUCCEEDED', message: '1 run(s) replayed' });
    const seen = async () =>
      (await the.fixture.read('accounts-entries')).filter(({ record }) => record?.eventId === eventId);
    await expect.poll(async () => (await seen()).length, { timeout: 10_000 }).toBe(2);
  });

  it('takes extra fields along, and a dry run changes nothing', async () => {
    const dry = await create('extra', { dryRun: true });
    expect(dry).toMatchObject({
      status: 'SUCCEEDED',
      message: expect.stringContaining('dry run'),
    });
    expect(await the.state('extra')).toBeUndefined();
    await create('extra', { extra: { description: 'for the ledger' } });
    const seeded = (await the.subscriptions()).find(({ url }) => url.endsWith('/extra'));
    expect(seeded).toMatchObject({ extra: { description: 'for the ledger' } });
  });

  it('that exists is adopted without being recreated, once its signing secret is in SECRETS_DIR', async () => {
    const secrets = { id: randomUUID(), signingSecret: randomUUID(), events: ['payment_status'] };
    await the.sandbox.call('POST', '/_sandbox/subscriptions', {
      json: { ...secrets, url: 'http://127.0.0.1:9/old' },
    });
    const adopt = { type: 'subscription.adopt', ref: 'adopted' };
    expect(await the.run(adopt)).toMatchObject({ status: 'REJECTED', errorCode: 'KEYS_MISSING' });
    the.fixture.secrets('adopted', {
      'subscription-id': secrets.id,
      'signing-secret': secrets.signingSecret,
    });
    expect(await the.run(adopt)).toMatchObject({ status: 'SUCCEEDED', subscriptionId: secrets.id });
    const adopted = (await the.subscriptions()).find(({ id }) => id === secrets.id);
    expect(adopted?.url).toBe(`${the.ingress.url}/webhooks/adopted`);
    const [execution] = await the.trigger({ ref: 'adopted' });
    expect(execution?.status).toBe(200);
  });
});
