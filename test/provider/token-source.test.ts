import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createTokenSource } from '../../src/provider/token-source.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { createHttp, type Http } from '../../src/runtime/http-client.ts';
import { openSandbox } from '../sandbox/support/open-sandbox.ts';

type Sandbox = Awaited<ReturnType<typeof openSandbox>>;
let sandbox: Sandbox;
let http: Http;

beforeAll(async () => {
  sandbox = await openSandbox({ tokenTtlS: 3_600 });
  http = createHttp({ tls: {}, files: { renewed() {}, unusable() {} }, clock: systemClock });
});
beforeEach(() => sandbox.call('POST', '/_sandbox/reset'));
afterAll(async () => {
  await http.stop();
  await sandbox.stop();
});

/** A source of tokens whose clock stands until it is moved. */
function open(more: { scope?: string; assertion?: () => Promise<string> } = {}) {
  const clock = { now: 1_000_000, setBy: 0 };
  const narrower: (readonly string[])[] = [];
  const outcomes: string[] = [];
  const source = createTokenSource({
    settings: {
      authUrl: sandbox.url,
      scope: more.scope ?? 'accounts.read transactions.read',
      grantType: 'client_credentials',
      clientAssertionType: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    },
    http,
    assertion: more.assertion ?? (async () => 'sandbox-lite-jwt'),
    onNarrowerScope: (missing) => narrower.push(missing),
    onRequest: (_, outcome) => outcomes.push(outcome),
    clock: { ...systemClock, now: () => clock.now, wall: () => clock.now + clock.setBy },
  });
  return { source, clock, narrower, outcomes };
}

const asked = async () => (await sandbox.call('GET', '/_sandbox/requests?operation=token')).json.length;
/** The next token answer has these fields set or removed. */
const alter = (set: object, remove: readonly string[] = []) =>
  sandbox.fail({ operation: 'token', kind: 'alter', set, remove });

describe('the access token', () => {
  it('is asked for once by all who wait for it, and then held', async () => {
    const { source } = open();
    const tokens = await Promise.all(Array.from({ length: 8 }, () => source.get()));
    expect(new Set([...tokens, await source.get()]).size).toBe(1);
    expect(await asked()).toBe(1);
  });

  it('is renewed a minute before its time is up', async () => {
    const { source, clock } = open();
    const first = await source.get();
    clock.now += (3_600 - 60) * 1_000 - 1;
    expect(await source.get()).toBe(first);
    clock.now += 1;
    expect(await source.get()).not.toBe(first);
  });

  it('of a short life is renewed when a tenth of it is left', async () => {
    await alter({ '/expires_in': 10 });
    const { source, clock } = open();
    const first = await source.get();
    clock.now += 8_999;
    expect(await source.get()).toBe(first);
    clock.now += 1;
    expect(await source.get()).not.toBe(first);
  });

  it('that was not taken is replaced, one that is already replaced is not', async () => {
    const { source } = open();
    const first = await source.get();
    source.reject(first);
    const second = await source.get();
    source.reject(first);
    expect([second === first, await source.get()]).toEqual([false, second]);
    expect(await asked()).toBe(2);
  });

  it('is asked for again after a failure', async () => {
    await sandbox.fail({ operation: 'token', kind: 'status', code: 503 });
    const { source } = open();
    await expect(Promise.all([source.get(), source.get()])).rejects.toMatchObject({
      code: 'TOKEN_UNAVAILABLE',
    });
    expect(await source.get()).toEqual(expect.any(String));
    expect(await asked()).toBe(2);
  });

  it('is not asked for again before its Retry-After', async () => {
    await sandbox.fail({ operation: 'token', kind: 'status', code: 429, headers: { 'retry-after': '7' } });
    const { source, clock } = open();
    const unavailable = { code: 'TOKEN_UNAVAILABLE' };
    await expect(source.get()).rejects.toMatchObject(unavailable);
    clock.now += 6_999;
    await expect(source.get()).rejects.toMatchObject({
      ...unavailable,
      detail: expect.stringContaining('1 s'),
    });
    expect(await asked()).toBe(1);
    clock.now += 1;
    expect(await source.get()).toEqual(expect.any(String));
    expect(await asked()).toBe(2);
  });

  it('is asked for again after its Retry-After, also where the clock was set back meanwhile', async () => {
    await sandbox.fail({ operation: 'token', kind: 'status', code: 429, headers: { 'retry-after': '7' } });
    const { source, clock } = open();
    await expect(source.get()).rejects.toMatchObject({ code: 'TOKEN_UNAVAILABLE' });
    clock.setBy = -3_600_000;
    clock.now += 7_000;
    expect(await source.get()).toEqual(expect.any(String));
  });
});

describe('a token answer', () => {
  it.each([
    ['its digits in a string', { '/expires_in': '3600' }, [], 3_540_000],
    ['no expires_in', {}, ['/expires_in'], 270_000],
    ['null for it', { '/expires_in': null }, [], 270_000],
    ['true for it', { '/expires_in': true }, [], 270_000],
    ['a list for it', { '/expires_in': [3_600] }, [], 270_000],
    ['a word for it', { '/expires_in': 'an hour' }, [], 270_000],
    ['nothing in a string', { '/expires_in': ' ' }, [], 270_000],
    ['0', { '/expires_in': 0 }, [], 270_000],
    ['-1', { '/expires_in': -1 }, [], 270_000],
  ])('with %s is held for a time that makes sense', async (_, set, remove, heldMs) => {
    await alter(set, remove);
    const { source, clock } = open();
    const first = await source.get();
    clock.now += heldMs - 1;
    expect(await source.get()).toBe(first);
    clock.now += 1;
    expect(await source.get()).not.toBe(first);
  });

  it.each([
    ['Bearer', { '/token_type': 'Bearer' }, []],
    ['no token_type', {}, ['/token_type']],
    ['no scope', {}, ['/scope']],
    ['a list of scopes', { '/scope': ['accounts.read'] }, []],
  ])('with %s is taken', async (_, set, remove) => {
    await alter(set, remove);
    const { source, narrower } = open();
    expect(await source.get()).toEqual(expect.any(String));
    expect(narrower).toEqual([]);
  });

  it('of another token_type is refused, as the token would be shown as what it is not', async () => {
    await alter({ '/token_type': 'DPoP' });
    await expect(open().source.get()).rejects.toMatchObject({ code: 'TOKEN_REFUSED' });
  });

  it.each([
    ['no token', {}, ['/access_token']],
    ['an empty token', { '/access_token': '' }, []],
    ['a number for a token', { '/access_token': 5 }, []],
    ['a token that would break a header', { '/access_token': 'a\r\nx-admin: 1' }, []],
    ['a token beyond ASCII', { '/access_token': 'töken' }, []],
  ])('with %s is as good as none', async (_, set, remove) => {
    await alter(set, remove);
    await expect(open().source.get()).rejects.toMatchObject({ code: 'TOKEN_UNAVAILABLE' });
  });

  it.each([
    [{ kind: 'status', code: 400 }, 'TOKEN_REFUSED'],
    [{ kind: 'status', code: 401 }, 'TOKEN_REFUSED'],
    [{ kind: 'redirect', code: 307 }, 'TOKEN_UNAVAILABLE'],
    [{ kind: 'status', code: 404, body: 'not found' }, 'TOKEN_UNAVAILABLE'],
    [{ kind: 'status', code: 404, body: { error: 'not_found' } }, 'TOKEN_UNAVAILABLE'],
    [{ kind: 'status', code: 404, body: { error: 'invalid_client' } }, 'TOKEN_REFUSED'],
    [{ kind: 'status', code: 403 }, 'TOKEN_REFUSED'],
    [{ kind: 'status', code: 408 }, 'TOKEN_UNAVAILABLE'],
    [{ kind: 'status', code: 425 }, 'TOKEN_UNAVAILABLE'],
    [{ kind: 'status', code: 429 }, 'TOKEN_UNAVAILABLE'],
    [{ kind: 'status', code: 500 }, 'TOKEN_UNAVAILABLE'],
    [{ kind: 'html-200' }, 'TOKEN_UNAVAILABLE'],
    [{ kind: 'status', code: 200, body: null }, 'TOKEN_UNAVAILABLE'],
    [{ kind: 'malformed-json' }, 'TOKEN_UNAVAILABLE'],
    [{ kind: 'truncated-body' }, 'TOKEN_UNAVAILABLE'],
    [{ kind: 'drop-before' }, 'TOKEN_UNAVAILABLE'],
  ])('%j is %s, and quoted by nobody', async (fault, code) => {
    await sandbox.fail({ operation: 'token', ...fault });
    const error: Error = await open()
      .source.get()
      .then(
        () => expect.fail('a token'),
        (failure) => failure,
      );
    expect(error).toMatchObject({ code });
    expect(error.message).not.toMatch(/sandbox-lite-jwt|<title>|sandbox_fault/);
  });

  it.each([
    ['a page', { kind: 'html-200' }, 'unknown'],
    ['nothing', { kind: 'status', code: 200, body: null }, 'unknown'],
    ['no token', { kind: 'alter', remove: ['/access_token'] }, 'unknown'],
    ['a token of another type', { kind: 'alter', set: { '/token_type': 'DPoP' } }, 'refused'],
  ])('200 with %s is counted as what it is, not as a token', async (_, fault, outcome) => {
    await sandbox.fail({ operation: 'token', ...fault });
    const { source, outcomes } = open();
    await source.get().catch(() => {});
    await source.get();
    expect(outcomes).toEqual([outcome, 'done']);
  });

  it('with fewer scopes than were asked for is used, and said', async () => {
    await alter({ '/scope': 'accounts.read' });
    const { source, narrower } = open();
    await source.get();
    expect(narrower).toEqual([['transactions.read']]);
  });

  it('does not come where the JWT can not be made: nobody is asked', async () => {
    const assertion = () => Promise.reject(new Error('no key'));
    await expect(open({ assertion }).source.get()).rejects.toThrow('no key');
    expect(await asked()).toBe(0);
  });
});
