import { describe, expect, it } from 'vitest';
import { DEFAULT_DIALECT } from '../../../src/sandbox/core/dialect.ts';
import { loadDialect } from '../../../src/sandbox/core/load-dialect.ts';
import { ENCRYPTION_KEY, openSandbox } from '../support/open-sandbox.ts';

const faultsOf = (file: unknown): string[] => {
  const read = loadDialect(typeof file === 'string' ? file : JSON.stringify(file));
  return 'faults' in read ? read.faults : [];
};

describe('a dialect file', () => {
  it('is laid over the default key by key, a body as a whole', () => {
    const read = loadDialect(
      JSON.stringify({
        list: { items: '/data' },
        update: { body: { target: '{url}' } },
        extra: { allow: ['note'] },
      }),
    );
    expect(read).toEqual({
      dialect: {
        ...DEFAULT_DIALECT,
        list: { ...DEFAULT_DIALECT.list, items: '/data' },
        update: { body: { target: '{url}' } },
        extra: { allow: ['note'] },
      },
    });
  });

  it.each([
    ['no JSON', '{', 'is not a JSON object'],
    ['an unknown section', { creat: {} }, '/creat is not known'],
    ['an unknown field', { list: { item: '' } }, '/list/item is not known'],
    ['a section that is none', { list: 7 }, '/list must be an object'],
    ['a pointer that is none', { list: { id: 'id' } }, '/list/id must be a JSON pointer'],
    ['an answer without a place', { create: { response: { id: '' } } }, '/create/response/id must point'],
    ['a status of a failure', { status: { create: 500 } }, '/status/create must be a status'],
    ['a body without what is needed', { create: { body: { url: '{url}' } } }, 'has no placeholder {events}'],
    ['a mixed placeholder', { replay: { body: { id: 'run-{executionId}' } } }, 'mixes a placeholder'],
    ['what the first edition knew', { extra: { mayReplace: [] } }, 'use /extra/allow, the fields'],
    ['names that are none', { extra: { allow: 'note' } }, '/extra/allow must be a list'],
    [
      'pointers that cross',
      { create: { response: { id: '/a', signingSecret: '/a/b' } } },
      '/a/b goes through a value',
    ],
  ])('is refused with %s', (_name, file, fault) => {
    expect(faultsOf(file).join('\n')).toContain(fault);
  });
});

describe('a sandbox that speaks another dialect', () => {
  it('reads and writes the fields where the file says', async () => {
    const read = loadDialect(
      JSON.stringify({
        create: {
          body: {
            kind: 'webhook',
            target: { address: '{url}' },
            topics: '{events}',
            secretKey: '{encryptionKey}',
          },
          response: { id: '/data/subscription/id', signingSecret: '/data/secret' },
        },
        update: { body: { topics: '{events}' } },
        list: {
          items: '/data/items',
          id: '/key',
          url: '/target/address',
          events: '/topics',
          active: '/live',
        },
        replay: { body: '{executionId}' },
        eventNames: { 'payment-status': 'PAYMENT_STATUS' },
        status: { create: 200, delete: 200 },
      }),
    );
    if ('faults' in read) throw new Error(read.faults.join());
    await using sandbox = await openSandbox({ dialect: read.dialect });
    const token = await sandbox.token();
    const json = {
      kind: 'webhook',
      target: { address: 'https://hookline.example/webhooks/a' },
      topics: ['PAYMENT_STATUS', 'accounts-entries'],
      secretKey: ENCRYPTION_KEY,
    };
    const created = await sandbox.call('POST', '/subscriptions', { json, token });
    expect(created.status).toBe(200);
    const { id } = created.json.data.subscription;
    expect(created.json).toEqual({
      data: { subscription: { id: expect.any(String) }, secret: expect.stringMatching(/^\w{36}$/) },
    });
    expect((await sandbox.call('GET', '/subscriptions', { token })).json).toEqual({
      data: { items: [{ key: id, target: json.target, topics: json.topics, live: true }] },
    });
    const [kept] = (await sandbox.call('GET', '/_sandbox/subscriptions')).json;
    expect(kept).toMatchObject({ encryptionKey: ENCRYPTION_KEY, extra: {} });
    expect((await sandbox.call('DELETE', `/subscription/${id}`, { token })).status).toBe(200);
    const wrong = await sandbox.call('POST', '/subscriptions', { json: { ...json, kind: 'mail' }, token });
    expect(wrong.json.message).toBe('/kind must be "webhook".');
  });
});
