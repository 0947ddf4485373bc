import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { nameOf, openOidc } from '../../../src/console/access/open-oidc.ts';
import { createSessions } from '../../../src/console/access/sessions.ts';
import { deriveKey } from '../../../src/crypto/keys.ts';
import { freePorts } from '../../stack/plan-ports.ts';
import { capturedLog } from '../../support/captured-log.ts';
import { openConsoleApp } from '../../support/console-app.ts';
import { CLIENT, openOpenIdProvider } from '../../support/openid-provider.ts';

/** The console with a real OpenID provider, and a browser that keeps cookies and follows no redirect by itself. */
async function openLogin(roles = 'viewers=view,oncall=operate') {
  const [port = 0] = await freePorts(1);
  const url = `http://127.0.0.1:${port}`;
  const provider = await openOpenIdProvider(`${url}/login/callback`);
  const secretFile = join(mkdtempSync(join(tmpdir(), 'console-')), 'secret');
  writeFileSync(secretFile, CLIENT.secret);
  const env = {
    ...{ CONSOLE_OIDC_ISSUER: provider.issuer, CONSOLE_OIDC_CLIENT_ID: CLIENT.id },
    ...{ CONSOLE_OIDC_CLIENT_SECRET_FILE: secretFile, CONSOLE_ROLES: roles },
  };
  const { settings, ...probe } = await openConsoleApp(env);
  await probe[Symbol.asyncDispose]();
  const sessions = createSessions(() => deriveKey(CLIENT.secret, 'hookline console session'), false);
  const oidc = openOidc(settings, () => CLIENT.secret);
  const log = capturedLog();
  const the = await openConsoleApp(env, { login: { oidc, sessions, publicUrl: url, logger: log.logger } });
  await the.app.listen({ port, host: '127.0.0.1' });
  const jars = new Map<string, Map<string, string>>();
  const visit = async (address: string, init: RequestInit = {}) => {
    const { origin } = new URL(address);
    const jar = jars.get(origin) ?? jars.set(origin, new Map()).get(origin)!;
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = { accept: 'text/html', cookie, ...init.headers };
    const response = await fetch(address, { ...init, headers, redirect: 'manual' });
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === '') jar.delete(name);
      else jar.set(name, value);
    }
    return response;
  };
  /** Follows redirects, and gives the addresses that were passed. */
  const open = async (path: string) => {
    const passed: string[] = [];
    let response = await visit(`${url}${path}`);
    for (let to = response.headers.get('location'); to !== null; to = response.headers.get('location')) {
      passed.push(new URL(to, response.url).href);
      response = await visit(passed.at(-1) ?? '');
    }
    return { response, passed, text: await response.text() };
  };
  return {
    ...{ url, provider, the, visit, open, jar: () => jars.get(url) ?? new Map<string, string>(), log },
    async [Symbol.asyncDispose]() {
      await the[Symbol.asyncDispose]();
      await provider[Symbol.asyncDispose]();
    },
  };
}

it.each([
  [{ sub: 'u-1', email: 'vera@example.org', email_verified: true }, 'vera@example.org'],
  [{ sub: 'u-1', email: 'boss@example.org', email_verified: false, preferred_username: 'boss' }, 'u-1'],
  [{ sub: 'u-1', email: 'boss@example.org', email_verified: 'false' }, 'u-1'],
  [{ sub: 'u-1', email: 'boss@example.org' }, 'u-1'],
])('names a user by what the provider has verified: %j is %s', (claims, name) => {
  expect(nameOf(claims)).toBe(name);
});

it('logs users in by code flow with PKCE, state and nonce, and back to where they wanted to be', async () => {
  await using login = await openLogin();
  const { response, passed, text } = await login.open('/words?q=wanted');
  expect([response.status, text]).toEqual([200, expect.stringContaining('wanted')]);
  expect(text).toContain('vera@example.org');
  const asked = new URL(passed.find((address) => address.includes('/auth?')) ?? '').searchParams;
  expect(Object.fromEntries(asked)).toMatchObject({
    ...{ response_type: 'code', code_challenge_method: 'S256', scope: 'openid email' },
    ...{ state: expect.stringMatching(/.{20}/), nonce: expect.stringMatching(/.{20}/) },
    code_challenge: expect.stringMatching(/.{40}/),
  });
  expect(login.jar().get('hookline-session')).toMatch(/^ey/);
  expect(login.jar().has('hookline-login')).toBe(false);
  // Sealed: neither the name nor the groups can be read.
  expect(
    Buffer.from(login.jar().get('hookline-session')!.split('.').join(''), 'base64url').toString('latin1'),
  ).not.toContain('vera');
});

it('gives roles by the groups of the user info', async () => {
  await using login = await openLogin();
  login.provider.login('otto@example.org', ['oncall']);
  expect((await login.open('/words')).text).toContain('operate');
  await using other = await openLogin();
  other.provider.login('nemo@example.org', ['guests']);
  expect((await other.open('/words')).response.status).toBe(403);
});

it('takes no answer to another request: a login that was begun elsewhere, a changed state, a used code', async () => {
  await using login = await openLogin();
  const { passed } = await login.open('/words');
  const callback = passed.find((address) => address.includes('/login/callback?')) ?? '';
  login.jar().clear();
  expect((await login.visit(callback)).status).toBe(400);
  await login.visit(`${login.url}/login`);
  expect((await login.visit(callback)).status).toBe(403);
  expect(login.jar().has('hookline-session')).toBe(false);
});

it('answers programs 401 instead of a redirect, and lets nobody choose where a login ends', async () => {
  await using login = await openLogin();
  const program = await login.visit(`${login.url}/words`, { headers: { accept: 'application/json' } });
  expect(program.status).toBe(401);
  for (const to of ['//evil.example', '/\\evil.example', 'https://evil.example']) {
    const { response } = await login.open(`/login?to=${encodeURIComponent(to)}`);
    expect(new URL(response.url).origin).toBe(login.url);
  }
});

it('takes no cookie of its own making, of another key, or of another kind', async () => {
  await using login = await openLogin();
  const other = createSessions(() => deriveKey('another secret', 'hookline console session'), false);
  const set: Record<string, string> = {};
  const reply = {
    setCookie(name: string, value: string) {
      set[name] = value;
    },
  };
  await other.begin(reply as never, { name: 'root', groups: ['oncall'] });
  await login.visit(`${login.url}/login`);
  const pending = login.jar().get('hookline-login') ?? '';
  for (const forged of [
    set['hookline-session'] ?? '',
    pending,
    'eyJhbGciOiJub25lIn0.eyJuYW1lIjoicm9vdCJ9.',
  ]) {
    login.jar().set('hookline-session', forged);
    expect(
      (await login.visit(`${login.url}/words`, { headers: { accept: 'application/json' } })).status,
    ).toBe(401);
  }
});

it('says that the provider does not answer', async () => {
  await using login = await openLogin();
  await login.provider[Symbol.asyncDispose]();
  const { response, text } = await login.open('/words');
  expect([response.status, text]).toEqual([503, expect.stringContaining('does not answer')]);
});

it('logs out with the form of a page alone', async () => {
  await using login = await openLogin();
  const { text } = await login.open('/words');
  const [, token = ''] = /name="_csrf" value="([^"]+)"/.exec(text) ?? [];
  expect((await login.visit(`${login.url}/logout`, { method: 'POST' })).status).toBe(403);
  const body = new URLSearchParams({ _csrf: token });
  expect((await login.visit(`${login.url}/logout`, { method: 'POST', body })).status).toBe(200);
  expect(login.jar().has('hookline-session')).toBe(false);
});
