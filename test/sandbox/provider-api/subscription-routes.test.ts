import { describe, expect, it } from 'vitest';
import { ENCRYPTION_KEY, openSandbox } from '../support/open-sandbox.ts';

const BODY = {
  url: 'https://hookline.example/webhooks/ledger-eu',
  events: ['payment_status', 'accounts-entries'],
  encryptionKey: ENCRYPTION_KEY,
};
const NOBODY = '/subscription/00000000-0000-4000-8000-000000000000';

type Sandbox = Awaited<ReturnType<typeof openSandbox>>;

async function create(sandbox: Sandbox, json: object = BODY) {
  const token = await sandbox.token();
  return { token, answer: await sandbox.call('POST', '/subscriptions', { json, token }) };
}

describe('every management operation', () => {
  it.each([
    ['GET', '/subscriptions'],
    ['POST', '/subscriptions'],
    ['PUT', NOBODY],
    ['DELETE', NOBODY],
    ['POST', '/executions/replay-execution'],
  ])('%s %s wants a token that is known and valid', async (method, path) => {
    await using sandbox = await openSandbox();
    const json = method === 'GET' ? undefined : {};
    for (const headers of [{}, { authorization: 'Bearer made-up' }, { authorization: 'Basic abc' }]) {
      const answer = await sandbox.call(method, path, { json, headers: { ...headers } });
      expect([answer.status, answer.json.error]).toEqual([401, 'invalid_token']);
      expect(answer.headers.get('www-authenticate')).toBe('Bearer');
    }
    const token = await sandbox.token();
    expect((await sandbox.call('POST', '/_sandbox/tokens/revoke')).json).toEqual({ revoked: 1 });
    expect((await sandbox.call(method, path, { json, token })).status).toBe(401);
  });

  it.each([
    ['GET', '/subscription'],
    ['POST', '/subscription'],
    ['PUT', '/subscriptions/some-id'],
    ['DELETE', '/subscriptions/some-id'],
    ['GET', NOBODY],
    ['POST', '/execution/replay-execution'],
    ['GET', '/oauth/token'],
  ])('%s %s is not one of them', async (method, path) => {
    await using sandbox = await openSandbox();
    const answer = await sandbox.call(method, path, { token: await sandbox.token() });
    expect([answer.status, answer.json.error]).toEqual([404, 'not_found']);
    expect(answer.json.message).toContain('PUT and DELETE /subscription/{id}');
  });
});

describe('POST /subscriptions', () => {
  it('answers with an id and a signing secret of 36 characters each', async () => {
    await using sandbox = await openSandbox();
    const { answer } = await create(sandbox);
    expect(answer.status).toBe(201);
    expect(Object.keys(answer.json)).toEqual(['id', 'signingSecret']);
    expect(answer.json.id).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    expect(answer.json.signingSecret).toMatch(/^\w{36}$/);
  });

  it('makes two of two requests with one url: the interface does not rule it out', async () => {
    await using sandbox = await openSandbox();
    const first = await create(sandbox);
    const second = await create(sandbox);
    expect(second.answer.json.id).not.toBe(first.answer.json.id);
    expect((await sandbox.call('GET', '/subscriptions', second)).json).toHaveLength(2);
  });

  it('keeps fields that it does not know, and shows them in the control API', async () => {
    await using sandbox = await openSandbox();
    await create(sandbox, { ...BODY, description: 'ours', encryptionKey: undefined });
    const [kept] = (await sandbox.call('GET', '/_sandbox/subscriptions')).json;
    expect(kept).toMatchObject({ extra: { description: 'ours' }, encryptionKey: null, active: true });
  });

  const refused: [string, object][] = [
    ['no url', { url: undefined }],
    ['a url that is none', { url: 'webhooks' }],
    ['a url of another kind', { url: 'ftp://hookline.example/' }],
    ['no events', { events: undefined }],
    ['an empty list of events', { events: [] }],
    ['an unknown event', { events: ['payment_status', 'loans'] }],
    ['another spelling of an event', { events: ['accounts_entries'] }],
    ['an event that is no text', { events: [7] }],
    ['events that are no list', { events: 'payment_status' }],
    ['a key of 31 characters', { encryptionKey: ENCRYPTION_KEY.slice(1) }],
    ['a key of 33 characters', { encryptionKey: `${ENCRYPTION_KEY}x` }],
    ['a key of 32 characters and 33 bytes', { encryptionKey: `${ENCRYPTION_KEY.slice(1)}é` }],
  ];
  it.each(refused)('refuses %s', async (_name, change) => {
    await using sandbox = await openSandbox();
    const { answer, token } = await create(sandbox, { ...BODY, ...change });
    expect([answer.status, answer.json.error]).toEqual([400, 'invalid_request']);
    expect((await sandbox.call('GET', '/subscriptions', { token })).json).toEqual([]);
  });

  it('refuses http receivers where only https is allowed, and says how to allow them', async () => {
    await using sandbox = await openSandbox({ allowHttpReceivers: false });
    const { answer } = await create(sandbox, { ...BODY, url: 'http://127.0.0.1/webhooks/a' });
    expect(answer.status).toBe(400);
    expect(answer.json.message).toContain('SANDBOX_ALLOW_HTTP_RECEIVERS=true');
  });

  it('refuses what is not JSON', async () => {
    await using sandbox = await openSandbox();
    const token = await sandbox.token();
    const asForm = await sandbox.call('POST', '/subscriptions', { form: { url: 'x' }, token });
    expect(asForm.status).toBe(415);
    const broken = await fetch(`${sandbox.url}/subscriptions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: '{"url":',
    });
    expect(await broken.json()).toEqual({
      error: 'invalid_request',
      message: 'The body is not JSON in UTF-8.',
    });
  });
});

describe('GET /subscriptions', () => {
  it('lists the active ones without their secrets', async () => {
    await using sandbox = await openSandbox();
    await sandbox.seed('https://other.example/', { active: false });
    const { answer, token } = await create(sandbox, {
      ...BODY,
      events: ['payment-status', 'accounts-entries'],
    });
    expect((await sandbox.call('GET', '/subscriptions', { token })).json).toEqual([
      { id: answer.json.id, url: BODY.url, events: BODY.events, active: true },
    ]);
  });
});

describe('PUT /subscription/{id}', () => {
  it('changes what it names and leaves the rest', async () => {
    await using sandbox = await openSandbox();
    const { answer, token } = await create(sandbox);
    const path = `/subscription/${answer.json.id}`;
    const json = { events: ['collection-status'], note: 'moved' };
    const updated = await sandbox.call('PUT', path, { json, token });
    expect(updated.status).toBe(200);
    expect(updated.json).toEqual({ id: answer.json.id, url: BODY.url, events: json.events, active: true });
    const [kept] = (await sandbox.call('GET', '/_sandbox/subscriptions')).json;
    expect(kept).toMatchObject({ encryptionKey: ENCRYPTION_KEY, extra: { note: 'moved' }, ...answer.json });
  });

  it('refuses an unknown id, faulty values and a body that changes nothing', async () => {
    await using sandbox = await openSandbox();
    const { answer, token } = await create(sandbox);
    const put = (path: string, json: unknown) => sandbox.call('PUT', path, { json, token });
    expect((await put(NOBODY, BODY)).status).toBe(404);
    for (const json of [{}, [], { url: 'x' }, { events: [] }, { encryptionKey: 'short' }]) {
      expect((await put(`/subscription/${answer.json.id}`, json)).status).toBe(400);
    }
  });
});

describe('DELETE /subscription/{id}', () => {
  it('answers 204 once and 404 from then on', async () => {
    await using sandbox = await openSandbox();
    const { answer, token } = await create(sandbox);
    const path = `/subscription/${answer.json.id}`;
    const gone = await sandbox.call('DELETE', path, { token });
    expect([gone.status, gone.text]).toEqual([204, '']);
    expect((await sandbox.call('DELETE', path, { token })).status).toBe(404);
    expect((await sandbox.call('GET', '/subscriptions', { token })).json).toEqual([]);
  });
});

describe('POST /executions/replay-execution', () => {
  it('refuses an execution that is not named, or not known', async () => {
    await using sandbox = await openSandbox();
    const token = await sandbox.token();
    const replay = (json: object) =>
      sandbox.call('POST', '/executions/replay-execution', { json, token }).then((answer) => answer.status);
    expect(await replay({})).toBe(400);
    expect(await replay({ executionId: 7 })).toBe(400);
    expect(await replay({ executionId: 'nobody' })).toBe(404);
  });
});
