import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ownPath } from '../../../src/console/access/login-routes.ts';
import { nameOf, openOidc } from '../../../src/console/access/open-oidc.ts';
import { createSessions } from '../../../src/console/access/sessions.ts';
import { groupsOf } from '../../../src/console/settings/roles.ts';
import { deriveKey } from '../../../src/crypto/keys.ts';
import { freePorts } from '../../stack/plan-ports.ts';
import { capturedLog } from '../../support/captured-log.ts';
import { openConsoleApp } from '../../support/console-app.ts';
import { CLIENT, openOpenIdProvider } from '../../support/openid-provider.ts';
import { serve } from '../../support/serve.ts';

/** The console with a real OpenID provider, and a browser that keeps cookies and follows no redirect by itself. */
async function openLogin(roles = 'viewers=view,oncall=operate') {
  const [port = 0] = await freePorts(1);
  const url = `http://127.0.0.1:${port}`;
  const provider = await openOpenIdProvider(`${url}/login/callback`);
  const secretFile = join(mkdtempSync(join(tmpdir(), 'console-')), 'secret');
  writeFileSync(secretFile, CLIENT.secret);
  const env = {
    CONSOLE_OIDC_ISSUER: provider.issuer,
    CONSOLE_OIDC_CLIENT_ID: CLIENT.id,
    CONSOLE_OIDC_CLIENT_SECRET_FILE: secretFile,
    CONSOLE_ROLES: roles,
  };
  const { settings, ...probe } = await openConsoleApp(env);
  await probe[Symbol.asyncDispose]();
  const key = () => deriveKey(CLIENT.secret, 'hookline console session');
  const sessions = createSessions({ key, isSecure: false, groups: groupsOf(settings.roles) });
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
    /** The cookie of a login that was begun. */
    pending: () => [...(jars.get(url) ?? [])].find(([name]) => name.startsWith('hookline-login')) ?? ['', ''],
    url,
    provider,
    the,
    visit,
    open,
    jar: () => jars.get(url) ?? new Map<string, string>(),
    log,
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
    response_type: 'code',
    code_challenge_method: 'S256',
    scope: 'openid email',
    state: expect.stringMatching(/.{20}/),
    nonce: expect.stringMatching(/.{20}/),
    code_challenge: expect.stringMatching(/.{40}/),
  });
  expect(login.jar().get('hookline-session')).toMatch(/^ey/);
  expect(login.pending()).toEqual(['', '']);
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

it('keeps whoever is in many groups with long names', async () => {
  const groups = Array.from({ length: 100 }, (_, n) => `cn=team-${n},ou=${'x'.repeat(60)},dc=example`);
  const roles = groups.map((group) => `${group.replaceAll(',', '%2C')}=view`).join(',');
  await using login = await openLogin(`${roles},${'y'.repeat(60)}=operate`);
  login.provider.login('otto@example.org', groups);
  const { response, passed } = await login.open('/words');
  expect([response.status, passed.filter((address) => address.endsWith('/words')).length]).toEqual([200, 1]);
  const [cookie = ''] = [...login.jar()].filter(([name]) => name === 'hookline-session').map(([, it]) => it);
  expect(cookie.length).toBeLessThan(4_000);
});

it('says so where the groups are too many for a cookie', async () => {
  const groups = Array.from({ length: 400 }, (_, n) => `team-${n}`);
  await using login = await openLogin(groups.map((group) => `${group}=view`).join(','));
  login.provider.login('otto@example.org', groups);
  const { response, text } = await login.open('/words');
  expect([response.status, text]).toEqual([403, expect.stringContaining('more groups with a role')]);
});

it('takes no answer to another request: a login that was begun elsewhere, a changed state, a used code', async () => {
  await using login = await openLogin();
  const { passed } = await login.open('/words');
  const callback = passed.find((address) => address.includes('/login/callback?')) ?? '';
  login.jar().clear();
  expect((await login.visit(callback)).status).toBe(400);
  await login.visit(`${login.url}/login`);
  expect((await login.visit(callback)).status).toBe(400);
  expect(login.jar().has('hookline-session')).toBe(false);
});

it('lets a stranger lock nobody out, however often they ask', async () => {
  await using login = await openLogin();
  const status = async (path: string) => (await fetch(`${login.url}${path}`, { redirect: 'manual' })).status;
  const asked: number[] = [];
  for (let n = 0; n < 100; n++)
    for (const path of ['/login', '/login/callback', '/assets/console.css', '/words'])
      asked.push(await status(path));
  expect(asked).not.toContain(429);
  expect((await login.open('/words?q=wanted')).text).toContain('wanted');
});

it('asks the provider once for each login that was begun, and no link ends one', async () => {
  await using login = await openLogin();
  const begun = await login.visit(`${login.url}/login`);
  const [name, pending] = login.pending();
  const state = new URL(begun.headers.get('location') ?? '').searchParams.get('state');
  const answer = (of: string | null) => `${login.url}/login/callback?code=x&state=${of}`;
  expect((await login.visit(answer('another'))).status).toBe(400);
  expect(login.pending()).toEqual([name, pending]);
  const failures = () => login.log.lines().filter(({ msg }) => msg === 'login failed').length;
  const statuses: number[] = [];
  for (let n = 0; n < 3; n++) {
    login.jar().set(name, pending);
    statuses.push((await login.visit(answer(state))).status);
  }
  expect([statuses, failures()]).toEqual([[403, 400, 400], 1]);
});

it('lets all tabs of a browser go on when a session has ended, each on its page', async () => {
  await using login = await openLogin();
  await login.open('/words');
  login.jar().delete('hookline-session');
  const tabs = Array.from({ length: 5 }, (_, n) => `/words?q=tab-${n}`);
  const begun: string[] = [];
  for (const to of tabs) {
    const { headers } = await login.visit(`${login.url}/login?to=${encodeURIComponent(to)}`);
    begun.push(headers.get('location') ?? '');
  }
  const callbacks: string[] = [];
  const ends: unknown[] = [];
  for (const address of begun) {
    callbacks.push((await login.visit(address)).headers.get('location') ?? '');
    ends.push((await login.visit(callbacks.at(-1) ?? '')).headers.get('location'));
  }
  expect(ends).toEqual(tabs);
  // Back to a login that is over: who is logged in has nothing to do again.
  const again = await login.visit(callbacks[0] ?? '');
  expect([again.status, again.headers.get('location')]).toEqual([303, '/']);
});

it('keeps few logins that were begun', async () => {
  await using login = await openLogin();
  for (let n = 0; n < 12; n++) await login.visit(`${login.url}/login`);
  const names = [...login.jar().keys()].filter((name) => name.startsWith('hookline-login'));
  expect(names.length).toBe(5);
  expect((await login.open('/words?q=wanted')).text).toContain('wanted');
});

it('seals no long address into the cookie of a login', async () => {
  await using login = await openLogin();
  await login.visit(`${login.url}/login?to=/${'x'.repeat(5_000)}`);
  expect(login.pending()[1].length).toBeLessThan(2_000);
  expect([ownPath(`/${'x'.repeat(999)}`).length, ownPath(`/${'x'.repeat(1_000)}`)]).toEqual([1_000, '/']);
});

it('takes no name that no marker of a dead-letter record takes, and says so', async () => {
  await using login = await openLogin();
  login.provider.login(`${'v'.repeat(90)}@example.org`, ['viewers']);
  const { response, text } = await login.open('/words');
  expect([response.status, login.jar().has('hookline-session')]).toEqual([403, false]);
  expect(text).toContain('The name of the user has 102 characters, and the console takes at most 100.');
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
  const key = () => deriveKey('another secret', 'hookline console session');
  const other = createSessions({ key, isSecure: false, groups: ['oncall'] });
  const set: Record<string, string> = {};
  const reply = {
    setCookie(name: string, value: string) {
      set[name] = value;
    },
  };
  await other.begin(reply as never, { name: 'root', groups: ['oncall'] });
  await login.visit(`${login.url}/login`);
  const [, pending] = login.pending();
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

it('reads no answer of the provider without end', async () => {
  let isLeft = false;
  let written = 0;
  await using provider = await serve((_, response) => {
    response.once('close', () => {
      isLeft = true;
    });
    response.writeHead(200, { 'content-type': 'application/json' }).write('{"a":"');
    const pour = () => {
      for (let takesMore = true; takesMore && !response.destroyed; written += 65_536)
        takesMore = response.write('x'.repeat(65_536));
    };
    response.on('drain', pour);
    pour();
  });
  const secretFile = join(mkdtempSync(join(tmpdir(), 'console-')), 'secret');
  writeFileSync(secretFile, CLIENT.secret);
  await using the = await openConsoleApp({
    CONSOLE_OIDC_ISSUER: provider.url,
    CONSOLE_OIDC_CLIENT_ID: CLIENT.id,
    CONSOLE_OIDC_CLIENT_SECRET_FILE: secretFile,
    CONSOLE_ROLES: '*=view',
  });
  const answer = openOidc(the.settings, () => CLIENT.secret).begin('http://127.0.0.1/login/callback');
  await expect(answer).rejects.toThrow();
  await expect.poll(() => isLeft).toBe(true);
  // Mostly in the buffers of the connection. The client's own time-out is ten seconds, which allows gigabytes.
  expect(written).toBeLessThan(64 * 1024 * 1024);
});

it('logs out with the form of a page alone', async () => {
  await using login = await openLogin();
  const { text } = await login.open('/words');
  const [, token = ''] = /name="_csrf" value="([^"]+)"/.exec(text) ?? [];
  expect((await login.visit(`${login.url}/logout`, { method: 'POST' })).status).toBe(403);
  const body = new URLSearchParams({ _csrf: token });
  const ended = await login.visit(`${login.url}/logout`, { method: 'POST', body });
  expect([ended.status, ended.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
  expect(await ended.text()).toContain('href="/login">Log in</a>');
  expect(login.jar().has('hookline-session')).toBe(false);
});

it('tells whoever sends a form after their session has ended to log in, and leads back to its page', async () => {
  await using login = await openLogin();
  await login.open('/words');
  login.jar().delete('hookline-session');
  const answer = await login.visit(`${login.url}/words`, { method: 'POST', body: new URLSearchParams() });
  const text = await answer.text();
  expect(answer.status).toBe(401);
  expect(text).toContain('your session has ended, and nothing was changed');
  expect(text).toContain('href="/login?to=%2Fwords">Log in</a>');
});
