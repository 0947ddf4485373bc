import { describe, expect, it } from 'vitest';
import { until } from '../../support/until.ts';
import { openReceiver } from '../support/open-receiver.ts';
import { ENCRYPTION_KEY, openSandbox, TOKEN_FORM } from '../support/open-sandbox.ts';

const SEED = {
  id: '7f3c1c1e-52b1-4a54-9c3a-0d6b1f0c9e11',
  signingSecret: 's3cr3t-s3cr3t-s3cr3t-s3cr3t-s3cr3t-3',
  encryptionKey: ENCRYPTION_KEY,
  url: 'https://hookline.example/webhooks/a',
};

describe('/_sandbox/subscriptions', () => {
  it('puts one in with given values, shows its secrets, replaces it and takes it out', async () => {
    await using sandbox = await openSandbox();
    expect(await sandbox.seed(SEED.url, SEED)).toMatchObject(SEED);
    await sandbox.seed(SEED.url, { ...SEED, events: ['collection-status'] });
    const list = () => sandbox.call('GET', '/_sandbox/subscriptions');
    expect((await list()).json).toEqual([
      { ...SEED, events: ['collection-status'], active: true, extra: {}, createdAt: expect.any(String) },
    ]);
    const path = `/_sandbox/subscriptions/${SEED.id}`;
    expect((await sandbox.call('DELETE', path)).status).toBe(204);
    expect((await sandbox.call('DELETE', path)).status).toBe(404);
    expect((await list()).json).toEqual([]);
  });

  it('makes up the id and the secret that are not given, and no key', async () => {
    await using sandbox = await openSandbox();
    const { id, signingSecret, encryptionKey } = await sandbox.seed(SEED.url, { encryptionKey: undefined });
    expect([id.length, signingSecret.length, encryptionKey]).toEqual([36, 36, null]);
  });

  it.each([
    [{ id: 'short' }, 'The id must be exactly 36'],
    [{ signingSecret: 'x'.repeat(37) }, 'The signing secret must be exactly 36'],
    [{ encryptionKey: 'x' }, 'exactly 32'],
    [{ url: 'nowhere' }, 'http or https'],
    [{ events: [] }, 'at least one'],
    [{ secret: 'x' }, 'no field "secret"'],
  ])('refuses %j', async (change, message) => {
    await using sandbox = await openSandbox();
    const refusal = await sandbox.seed(SEED.url, change);
    expect(refusal.error).toBe('invalid_request');
    expect(refusal.message).toContain(message);
  });
});

describe('/_sandbox/executions', () => {
  it('lists the newest first and filters', async () => {
    await using receiver = await openReceiver({ answer: (n) => (n === 1 ? 410 : 200) });
    await using sandbox = await openSandbox();
    const { id } = await sandbox.seed(receiver.url);
    const trigger = await sandbox.trigger({ wait: 'final' });
    await sandbox.trigger({ wait: 'final', count: 2 });
    const list = async (query: string) => (await sandbox.call('GET', `/_sandbox/executions${query}`)).json;
    const times = (await list('')).map((one: { createdAt: string }) => one.createdAt);
    expect(times).toEqual([...times].sort().reverse());
    expect(times).toHaveLength(3);
    expect(await list('?limit=1')).toHaveLength(1);
    expect(await list(`?subscriptionId=${id}&state=failed`)).toMatchObject([{ status: 410, sentBody: null }]);
    expect(await list(`?triggerId=${trigger.json.id}`)).toHaveLength(1);
    expect(await list('?subscriptionId=nobody')).toEqual([]);
    expect((await list('?limit=all')).error).toBe('invalid_request');
  });

  it('shows one with every byte and header that was sent', async () => {
    await using receiver = await openReceiver();
    await using sandbox = await openSandbox();
    await sandbox.seed(receiver.url);
    const { json } = await sandbox.trigger({ wait: 'final', sealed: true });
    const [listed] = json.executions;
    const one = (await sandbox.call('GET', `/_sandbox/executions/${listed.id}`)).json;
    const [got] = receiver.received;
    expect(one).toMatchObject(listed);
    expect(Buffer.from(one.bodyBase64, 'base64').equals(got!.body)).toBe(true);
    expect(Buffer.from(one.messageBase64, 'base64').toString()).toBe(listed.sentBody);
    expect(got?.headers).toMatchObject(one.headers);
    expect((await sandbox.call('GET', '/_sandbox/executions/nobody')).status).toBe(404);
  });
});

describe('/_sandbox/faults', () => {
  it('replaces, shows and clears the rules', async () => {
    await using sandbox = await openSandbox();
    await sandbox.fail({ operation: 'list', kind: 'hang' });
    const set = await sandbox.fail({ operation: 'token', kind: 'delay', ms: 5, times: null });
    expect(set.json).toEqual([
      { operation: 'token', kind: 'delay', ms: 5, times: null, remaining: null, hits: 0 },
    ]);
    expect((await sandbox.call('GET', '/_sandbox/faults')).json).toEqual(set.json);
    expect((await sandbox.call('DELETE', '/_sandbox/faults')).status).toBe(204);
    expect((await sandbox.call('GET', '/_sandbox/faults')).json).toEqual([]);
  });

  it.each([
    [{ operation: 'lists', kind: 'hang' }, '/0/operation must be one of token, list,'],
    [{ operation: 'list', kind: 'explode' }, '/0/kind must be one of status, delay,'],
    [{ operation: 'list', kind: 'status' }, 'Rule 0: status needs code.'],
    [{ operation: 'list', kind: 'hang', code: 500 }, 'Rule 0: hang does not take code.'],
    [{ operation: 'delivery', kind: 'html-200' }, 'Rule 0: html-200 does not apply to deliveries.'],
    [
      { operation: 'delivery', kind: 'hang', effect: true },
      'Rule 0: hang has no effect on a delivery: leave out effect.',
    ],
    [{ operation: 'list', kind: 'hang', times: 0 }, '/0/times must be >= 1.'],
    [{ operation: 'token', kind: 'alter', set: { scope: 1 } }, '/0/set'],
    [{ operation: 'list', kind: 'status', code: 500, headers: { a: 'b\n' } }, '/0/headers/a'],
  ])('refuses %j', async (rule, message) => {
    await using sandbox = await openSandbox();
    const { status, json } = await sandbox.fail(rule);
    expect(status).toBe(400);
    expect(json.message).toContain(message);
    expect((await sandbox.call('GET', '/_sandbox/faults')).json).toEqual([]);
  });
});

describe('/_sandbox/requests', () => {
  it('counts the calls by operation and keeps nothing secret', async () => {
    await using sandbox = await openSandbox();
    const token = await sandbox.token();
    await sandbox.call('GET', '/subscriptions', { token });
    await sandbox.call('GET', '/subscriptions?x=1');
    await sandbox.call('GET', '/nowhere');
    await sandbox.fail({ operation: 'list', kind: 'drop-after' });
    await expect(sandbox.call('GET', '/subscriptions', { token })).rejects.toThrow();
    const requests = async (query = '') => sandbox.call('GET', `/_sandbox/requests${query}`);
    const settled = await until('the last one is settled', async () => {
      const { json } = await requests('?operation=list');
      return json.every((one: { durationMs: number | null }) => one.durationMs !== null) && json;
    });
    expect(settled.map((one: { path: string; status: number }) => [one.path, one.status])).toEqual([
      ['/subscriptions', 200],
      ['/subscriptions', 401],
      ['/subscriptions', null],
    ]);
    const all = await requests();
    expect(all.json.map((one: { operation: string }) => one.operation)).toEqual([
      'token',
      'list',
      'list',
      null,
      'list',
    ]);
    expect(all.text).not.toContain(token);
    expect(all.text).not.toContain(TOKEN_FORM.client_assertion);
  });
});

it('POST /_sandbox/reset forgets everything and ends what is under way', async () => {
  await using receiver = await openReceiver({ answer: () => () => {} });
  await using sandbox = await openSandbox();
  await sandbox.seed(receiver.url);
  const token = await sandbox.token();
  await sandbox.trigger({ count: 1000, rate: 50 });
  await until('one is on its way', () => receiver.received.length > 0);
  await sandbox.fail({ operation: 'list', kind: 'hang', times: null });
  expect((await sandbox.call('POST', '/_sandbox/reset')).status).toBe(204);
  for (const what of ['subscriptions', 'executions', 'faults', 'requests']) {
    expect((await sandbox.call('GET', `/_sandbox/${what}`)).json).toEqual([]);
  }
  expect((await sandbox.call('GET', '/subscriptions', { token })).status).toBe(401);
});
