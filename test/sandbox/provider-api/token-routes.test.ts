import { describe, expect, it } from 'vitest';
import { openSandbox, TOKEN_FORM } from '../support/open-sandbox.ts';

const without = (name: keyof typeof TOKEN_FORM) =>
  Object.fromEntries(Object.entries(TOKEN_FORM).filter(([key]) => key !== name));

describe('POST /oauth/token', () => {
  it('issues a token as section 2.2 shows it', async () => {
    await using sandbox = await openSandbox();
    const answer = await sandbox.call('POST', '/oauth/token', { form: TOKEN_FORM });
    expect(answer.status).toBe(200);
    expect(answer.json).toEqual({
      access_token: expect.stringMatching(/^[\w-]{20,}$/),
      token_type: 'bearer',
      expires_in: 300,
      scope: TOKEN_FORM.scope,
    });
    expect(answer.headers.get('cache-control')).toBe('no-store');
  });

  it.each(['grant_type', 'scope', 'client_assertion_type', 'client_assertion'] as const)(
    'refuses a form without %s',
    async (name) => {
      await using sandbox = await openSandbox();
      const answer = await sandbox.call('POST', '/oauth/token', { form: without(name) });
      expect(answer.status).toBe(400);
      expect(answer.json).toEqual({ error: 'invalid_request', message: `${name} is missing.` });
    },
  );

  const refused: [string, object, number, string][] = [
    ['an Authorization header', { headers: { authorization: 'Bearer x' } }, 400, 'invalid_request'],
    ['another Accept', { headers: { accept: '*/*' } }, 406, 'not_acceptable'],
    [
      'another Content-Type',
      { headers: { 'content-type': 'application/json' } },
      415,
      'unsupported_media_type',
    ],
    ['an unknown assertion', { form: { client_assertion: 'other' } }, 401, 'invalid_client'],
    ['an empty scope', { form: { scope: '' } }, 400, 'invalid_scope'],
    ['an unknown scope', { form: { scope: 'accounts.read webhooks' } }, 400, 'invalid_scope'],
    ['two spaces between scopes', { form: { scope: 'accounts.read  accounts.close' } }, 400, 'invalid_scope'],
    ['another grant type', { form: { grant_type: 'password' } }, 400, 'unsupported_grant_type'],
    ['another assertion type', { form: { client_assertion_type: 'jwt' } }, 400, 'invalid_request'],
  ];
  it.each(refused)(
    'refuses %s',
    async (_name, change: { headers?: object; form?: object }, status, error) => {
      await using sandbox = await openSandbox();
      const answer = await sandbox.call('POST', '/oauth/token', {
        form: { ...TOKEN_FORM, ...change.form },
        headers: { ...change.headers },
      });
      expect([answer.status, answer.json.error]).toEqual([status, error]);
      expect(answer.json.message).toMatch(/\.$/);
      expect(answer.text).not.toContain('sandbox-lite-jwt');
    },
  );

  it('says how scopes are separated', async () => {
    await using sandbox = await openSandbox();
    const form = { ...TOKEN_FORM, scope: 'accounts.read  accounts.close' };
    const { json } = await sandbox.call('POST', '/oauth/token', { form });
    expect(json.message).toBe('Several scopes are separated by a single space.');
  });

  it('refuses a field that is given twice', async () => {
    await using sandbox = await openSandbox();
    const answer = await fetch(`${sandbox.url}/oauth/token`, {
      method: 'POST',
      headers: { accept: 'application/json', 'content-type': 'application/x-www-form-urlencoded' },
      body: `${new URLSearchParams(TOKEN_FORM)}&scope=accounts.close`,
    });
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ message: 'scope is given twice.' });
  });

  it('takes another JWT where it is configured so', async () => {
    await using sandbox = await openSandbox({ jwt: 'mine' });
    const form = { ...TOKEN_FORM, client_assertion: 'mine' };
    expect((await sandbox.call('POST', '/oauth/token', { form })).status).toBe(200);
    expect((await sandbox.call('POST', '/oauth/token', { form: TOKEN_FORM })).status).toBe(401);
  });
});
