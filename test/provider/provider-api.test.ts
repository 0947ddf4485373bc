import { describe, expect, it } from 'vitest';
import type { Outcome } from '../../src/provider/call-provider.ts';
import { DEFAULT_DIALECT, parseDialect } from '../../src/provider/dialect.ts';
import { createProviderApi } from '../../src/provider/provider-api.ts';
import { openProviderHarness } from '../support/provider-harness.ts';

/** An API whose every call is answered with this body. */
function answering(body: unknown, dialect = DEFAULT_DIALECT) {
  const asked: object[] = [];
  const outcome: Outcome = { judgement: 'done', status: 200, body, why: '', retryAfterMs: null };
  const api = createProviderApi(async (request) => {
    asked.push(request);
    return outcome;
  }, dialect);
  return { api, asked };
}

const values = {
  url: 'https://hooks.example/webhooks/a',
  events: ['payment_status'],
  encryptionKey: 'x'.repeat(32),
};

describe('the operations of the provider', () => {
  it('create, list, update, replay and remove a subscription over real HTTP', async () => {
    await using harness = await openProviderHarness();
    const { created } = await harness.api.create(values, { label: 'mine' });
    const [kept] = (await harness.sandbox.call('GET', '/_sandbox/subscriptions')).json;
    expect(created).toEqual({ id: kept.id, signingSecret: kept.signingSecret });
    expect(kept).toMatchObject({
      url: values.url,
      encryptionKey: values.encryptionKey,
      extra: { label: 'mine' },
    });
    const { id = '' } = created ?? {};
    const update = { ...values, events: ['accounts-entries'] };
    expect(await harness.api.update(id, update, {})).toMatchObject({ judgement: 'done' });
    const listed = { id, url: values.url, events: ['accounts-entries'], isActive: true };
    expect((await harness.api.list()).items).toEqual([listed]);
    expect(await harness.api.replay({ executionId: 'none' }, {})).toMatchObject({ judgement: 'gone' });
    expect(await harness.api.remove(id)).toMatchObject({ judgement: 'done' });
    expect(await harness.api.remove(id)).toMatchObject({ judgement: 'gone' });
    expect((await harness.api.list()).items).toEqual([]);
  });

  it('put an id into the path as one step of it', async () => {
    const { api, asked } = answering(undefined);
    await api.remove('a/../b?c');
    expect(asked).toEqual([{ method: 'DELETE', path: '/subscription/a%2F..%2Fb%3Fc' }]);
  });

  it.each([
    ['nothing', undefined],
    ['no list', { items: [] }],
    ['an item without an id', [{ url: 'https://x' }]],
    ['an id that is a number', [{ id: 5 }]],
    ['an item that is null', [null]],
    ['an id that leads to another path', [{ id: '..' }]],
    ['an id that is no Unicode', [{ id: '\ud800' }]],
    ['an id of a megabyte', [{ id: 'x'.repeat(1_000_000) }]],
    [
      'one id with two addresses',
      [
        { id: 'a', url: 'https://x' },
        { id: 'a', url: 'https://y' },
      ],
    ],
  ])('do not take %s for a list', async (_, body) => {
    expect((await answering(body).api.list()).items).toBeNull();
  });

  it('take an address as all readers of URLs spell it, and what is no URL as it is', async () => {
    const urls = ['HTTPS://Hooks.Example:443/webhooks/a', 'https://hooks.example/webhooks/b', 'by e-mail'];
    const items = await answering(urls.map((url, id) => ({ id: `i${id}`, url }))).api.list();
    expect(items.items?.map(({ url }) => url)).toEqual([
      'https://hooks.example/webhooks/a',
      'https://hooks.example/webhooks/b',
      'by e-mail',
    ]);
  });

  it('take an item that is listed twice once', async () => {
    const item = { id: 'a', url: 'https://x', events: ['x'] };
    expect((await answering([item, item]).api.list()).items).toEqual([
      { ...item, url: 'https://x/', isActive: true },
    ]);
  });

  it('read a list where the dialect says, and what it does not show is null', async () => {
    const dialect = parseDialect(
      '{"list":{"items":"/data","id":"/key","url":"/hook/url","active":"/hook/on"}}',
    );
    const body = {
      data: [
        { key: 'a', hook: { url: 5, on: false }, events: ['x', 7] },
        { key: 'b', hook: { on: 'no' }, events: 'x' },
      ],
    };
    expect((await answering(body, dialect).api.list()).items).toEqual([
      { id: 'a', url: null, events: ['x'], isActive: false },
      { id: 'b', url: null, events: null, isActive: true },
    ]);
  });

  it.each([
    ['no body', undefined, null],
    ['no id', { signingSecret: 's' }, null],
    ['an id that is a number', { id: 7, signingSecret: 's' }, null],
    ['an id that leads to another path', { id: '..', signingSecret: 's' }, null],
    ['no secret', { id: 'i' }, { id: 'i', signingSecret: undefined }],
    ['a secret that is a number', { id: 'i', signingSecret: 7 }, { id: 'i', signingSecret: undefined }],
  ])('read of a creation with %s what is there', async (_, body, created) => {
    expect((await answering(body).api.create(values, {})).created).toEqual(created);
  });
});
