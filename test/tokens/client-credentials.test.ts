import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/runtime/clock.ts';
import { createHttp, type Http } from '../../src/runtime/http-client.ts';
import { requestByCredentials } from '../../src/tokens/client-credentials.ts';
import { CLIENT_ID, TokenIssuer } from '../support/secure/token-issuer.ts';

/** Every character that form encoding changes, and one that two bytes stand for. */
const SECRET = 'hunter2:+/=% &ä';
const dir = mkdtempSync(join(tmpdir(), 'hookline-credentials-'));
const secretFile = join(dir, 'secret');
let issuer: TokenIssuer;
let http: Http;

beforeAll(async () => {
  issuer = await TokenIssuer.start(SECRET);
  http = createHttp({ tls: {}, files: { renewed() {}, unusable() {} }, clock: systemClock });
});

afterAll(async () => {
  await http.stop();
  await issuer[Symbol.asyncDispose]();
  rmSync(dir, { recursive: true });
});

const ask = (changes: { secret?: string; tokenUrl?: string; scope?: string } = {}) => {
  writeFileSync(secretFile, `${changes.secret ?? SECRET}\n`);
  const { tokenUrl = issuer.tokenUrl, scope } = changes;
  const client = { clientId: CLIENT_ID, clientSecretFile: secretFile, prefix: 'KAFKA_OAUTH' };
  return requestByCredentials(http, { ...client, tokenUrl, scope });
};

const refusalOf = async (asked: Promise<unknown>) => {
  const error = (await asked.then(
    () => expect.fail('a token came'),
    (refused) => refused,
  )) as Error & { code: string };
  expect(`${error.message} ${JSON.stringify(error)}`).not.toContain('hunter2');
  return error;
};

describe('client credentials', () => {
  it('are shown as RFC 6749 has them: the token and its lifetime come back', async () => {
    issuer.lifetimeS = 77;
    const { token, lifetimeS } = await ask({ scope: 'kafka registry' });
    expect([token.split('.').length, lifetimeS]).toEqual([3, 77]);
    expect(Object.fromEntries(issuer.requests.at(-1) ?? [])).toEqual({
      grant_type: 'client_credentials',
      scope: 'kafka registry',
    });
    await ask();
    expect(issuer.requests.at(-1)?.has('scope')).toBe(false);
  });

  it("that are refused are explained with the answer's error, which never quotes the secret", async () => {
    const error = await refusalOf(ask({ secret: 'hunter2-wrong' }));
    expect(error.code).toBe('ACCESS_TOKEN_REFUSED');
    expect(error.message).toMatch(/status 401, invalid_client.*KAFKA_OAUTH_CLIENT_SECRET_FILE/);
  });

  it.each([
    [{ status: 400, body: `{"error":"${SECRET}"}` }, 'ACCESS_TOKEN_REFUSED', /status 400\)/],
    [{ status: 400, body: 'hunter2' }, 'ACCESS_TOKEN_REFUSED', /status 400\)/],
    [
      { status: 503, body: '{"error":"temporarily_unavailable"}' },
      'ACCESS_TOKEN_UNAVAILABLE',
      /status 503, temp/,
    ],
    [{ status: 429, body: '' }, 'ACCESS_TOKEN_UNAVAILABLE', /status 429/],
    [{ status: 200, body: '[]' }, 'ACCESS_TOKEN_UNAVAILABLE', /no access_token/],
    [{ status: 200, body: '{"access_token":"a\\nb"}' }, 'ACCESS_TOKEN_UNAVAILABLE', /no access_token/],
    [{ status: 200, body: '{"access_token":"a","token_type":"mac"}' }, 'ACCESS_TOKEN_REFUSED', /not bearer/],
  ])('that are answered %j give %s', async (answer, code, message) => {
    issuer.refusal = answer;
    const error = await refusalOf(ask());
    issuer.refusal = undefined;
    expect([error.code, error.message]).toEqual([code, expect.stringMatching(message)]);
  });

  it('that reach nobody, or whose file is missing for a moment, name the variable', async () => {
    const nobody = await refusalOf(ask({ tokenUrl: 'http://127.0.0.1:9/token' }));
    expect([nobody.code, nobody.message]).toEqual([
      'ACCESS_TOKEN_UNAVAILABLE',
      expect.stringMatching(/nobody listens there.*KAFKA_OAUTH_TOKEN_URL/),
    ]);
    const asked = ask();
    rmSync(secretFile);
    await asked;
    const client = { clientId: CLIENT_ID, clientSecretFile: secretFile, prefix: 'KAFKA_OAUTH' };
    const missing = requestByCredentials(http, { ...client, tokenUrl: issuer.tokenUrl, scope: undefined });
    expect((await refusalOf(missing)).message).toMatch(/KAFKA_OAUTH_CLIENT_SECRET_FILE.*ENOENT/);
  });
});
