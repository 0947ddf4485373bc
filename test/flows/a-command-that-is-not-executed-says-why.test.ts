import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { cli } from '../support/cli.ts';
import { ControlFixture } from '../support/control-fixture.ts';
import { until } from '../support/until.ts';

let the: ControlFixture;

beforeAll(async () => {
  the = await ControlFixture.make(inject('stack'));
});

afterAll(() => the[Symbol.asyncDispose]());

describe('a command', () => {
  it.each([
    ['JSON that is broken', '{"commandId":"broken"', 'broken'],
    ['JSON that ends within its id', '{"commandId":"x', null],
    ['text', 'create a subscription', null],
    ['Avro of an unknown schema', Buffer.from('00000f424000', 'hex'), null],
    ['nothing', '', null],
    ['JSON without an id', { type: 'subscription.list' }, null],
    ['JSON without a type', { commandId: 'no-type', ref: 'a' }, 'no-type'],
    ['an unknown type', { commandId: 'odd-type', type: 'subscription.pause', ref: 'a' }, 'odd-type'],
    ['a ref that is none', { commandId: 'odd-ref', type: 'subscription.create', ref: '../a' }, 'odd-ref'],
    [
      'a time that is none',
      { commandId: 'odd-time', type: 'subscription.list', expiresAt: 'soon' },
      'odd-time',
    ],
  ])(
    'of %s goes to the dead-letter topic, is REJECTED where it has an id, and holds nobody up',
    async (_, value, id) => {
      const key = randomUUID();
      await the.send(key, value);
      const next = await the.run({ type: 'subscription.list' });
      expect(next.status).toBe('SUCCEEDED');
      const deadLetter = await until('it is a dead-letter record', async () =>
        (await the.fixture.read('dead-letter')).find((one) => one.key === key),
      );
      const sent =
        Buffer.isBuffer(value) || typeof value === 'string'
          ? Buffer.from(value)
          : Buffer.from(JSON.stringify(value));
      expect(deadLetter.value).toEqual(sent);
      expect(deadLetter.headers).toMatchObject({
        '__connect.errors.stage': 'COMMAND',
        '__connect.errors.exception.class.name': 'COMMAND_INVALID',
        '__connect.errors.topic': the.fixture.topic('commands'),
        '__connect.errors.offset': expect.stringMatching(/^\d+$/),
      });
      if (id)
        expect(await the.result(id)).toMatchObject({ status: 'REJECTED', errorCode: 'COMMAND_INVALID' });
    },
  );

  it.each([
    [
      'an update of an unknown ref',
      { type: 'subscription.update', ref: 'unknown' },
      'REJECTED',
      'UNKNOWN_REF',
    ],
    [
      'a replay for an unknown ref',
      { type: 'webhook.replay', ref: 'unknown', executionIds: ['x'] },
      'REJECTED',
      'UNKNOWN_REF',
    ],
    [
      'an unknown event',
      { type: 'subscription.create', ref: 'a', events: ['refunds'] },
      'REJECTED',
      'UNKNOWN_EVENT',
    ],
    [
      'extra that would replace the address',
      { type: 'subscription.create', ref: 'a', extra: { url: 'https://evil.example' } },
      'REJECTED',
      'EXTRA_CONFLICT',
    ],
    [
      'one that has expired',
      { type: 'subscription.create', ref: 'a', expiresAt: '2020-01-01T00:00:00Z' },
      'EXPIRED',
      'COMMAND_EXPIRED',
    ],
  ])('that is %s gets its answer without a call to the provider', async (_, command, status, errorCode) => {
    const before = (await the.sandbox.call('GET', '/_sandbox/requests')).json.length;
    expect(await the.run(command)).toMatchObject({ status, errorCode, attempts: 0 });
    expect((await the.sandbox.call('GET', '/_sandbox/requests')).json).toHaveLength(before);
  });

  it('that the provider refuses has FAILED with its status, and leaves no intent behind', async () => {
    const faults = [{ operation: 'create', kind: 'status', code: 422, body: { secret: 'not to be told' } }];
    await the.sandbox.call('PUT', '/_sandbox/faults', { json: faults });
    const result = await the.run({ type: 'subscription.create', ref: 'refused', events: ['payment-status'] });
    expect(result).toMatchObject({ status: 'FAILED', errorCode: 'PROVIDER_REFUSED', httpStatus: 422 });
    expect(result.message).not.toContain('not to be told');
    expect(await the.state('refused')).toBeNull();
    expect(
      await the.run({ type: 'subscription.create', ref: 'refused', events: ['payment-status'] }),
    ).toMatchObject({ status: 'SUCCEEDED' });
  });

  it('that comes twice is carried out once, and the second is a DUPLICATE', async () => {
    const commandId = randomUUID();
    const command = { commandId, type: 'subscription.create', ref: 'twice', events: ['payment-status'] };
    await the.run(command);
    await the.send('twice', command);
    await until('both have a result', async () => (await the.results(commandId)).length === 2);
    expect((await the.results(commandId)).map(({ status }) => status)).toEqual(['SUCCEEDED', 'DUPLICATE']);
    expect((await the.subscriptions()).filter(({ url }) => url.endsWith('/twice'))).toHaveLength(1);
  });

  it('for a ref of another command topic is NOT_OWNER', async () => {
    await using two = await ControlFixture.make(inject('stack'));
    const topics = ['ledger', 'analytics'].map((team) => two.fixture.topic(`commands-${team}`));
    const env = { COMMAND_TOPICS: topics.join(',') };
    await cli({ ...two.fixture.env, ...env }, 'topics', 'apply');
    await two.control.stop();
    await two.fixture.control(two.urls, env);
    const create = { type: 'subscription.create', ref: 'mine', events: ['payment-status'] };
    expect(await two.run(create, topics[0])).toMatchObject({ status: 'SUCCEEDED' });
    for (const type of ['subscription.update', 'subscription.delete', 'subscription.create']) {
      const foreign = await two.run({ type, ref: 'mine' }, topics[1]);
      expect(foreign).toMatchObject({ status: 'REJECTED', errorCode: 'NOT_OWNER' });
    }
    expect(await two.subscriptions()).toHaveLength(1);
  });

  it('for a ref that its topic’s pattern does not match is NOT_OWNER', async () => {
    await using one = await ControlFixture.make(inject('stack'));
    const topic = one.fixture.topic('commands.ledger');
    const env = { COMMAND_TOPICS: `${topic}=ledger-*,${topic}=gl` };
    await cli({ ...one.fixture.env, ...env }, 'topics', 'apply');
    await one.control.stop();
    await one.fixture.control(one.urls, env);
    const create = (ref: string) => ({ type: 'subscription.create', ref, events: ['payment-status'] });
    expect(await one.run(create('ledger'), topic)).toMatchObject({
      status: 'REJECTED',
      errorCode: 'NOT_OWNER',
      message: expect.stringContaining(`${topic} takes refs that match ledger-* or gl`),
    });
    expect(await one.run(create('ledger-eu'), topic)).toMatchObject({ status: 'SUCCEEDED' });
    expect((await one.subscriptions()).map(({ url }) => url)).toEqual([
      `${one.ingress.url}/webhooks/ledger-eu`,
    ]);
  });
});
