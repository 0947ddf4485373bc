import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { cli } from '../support/cli.ts';
import type { RunningProcess } from '../support/running-process.ts';
import { findings, readiness } from '../support/secure/secure-fixture.ts';
import { startTokenRegistry } from '../support/secure/secure-registry.ts';
import { AUDIENCE, CLIENT_ID, TokenIssuer } from '../support/secure/token-issuer.ts';
import { startTokenKafka, type TokenKafka } from '../support/secure/token-kafka.ts';
import { postSigned } from '../support/sign.ts';
import { Fixture, PARTITIONS } from '../support/topics-fixture.ts';
import { until } from '../support/until.ts';

type Env = Record<string, string | undefined>;

const SECRET = 'correct-horse+battery/staple=%';
const RENEWED = 'renewed-horse-battery';
/** Longer than a large body needs to be one: it is stored by the other thread. */
const LARGE_BYTES = 3 * 1024 * 1024;
/** The shortest that kafkajs can renew in time. */
const SESSION_MS = 12_000;
const TOKEN_S = 24;

const keys = { subscriptionId: randomUUID(), signingSecret: randomUUID() };
const seen: IncomingHttpHeaders[] = [];
let issuer: TokenIssuer;
let kafka: TokenKafka;
let registry: Awaited<ReturnType<typeof startTokenRegistry>>;
let fixture: Fixture;
let secretFile: string;

beforeAll(async () => {
  issuer = await TokenIssuer.start(SECRET);
  issuer.lifetimeS = TOKEN_S;
  [kafka, registry] = await Promise.all([
    startTokenKafka(issuer, { sessionMs: SESSION_MS }),
    startTokenRegistry(inject('registryUrl'), issuer, (headers) => seen.push(headers)),
  ]);
  fixture = await Fixture.make({ brokers: kafka.stack.brokers, registryUrl: inject('registryUrl') });
  await fixture.read('subscriptions', 0);
  fixture.secrets('ledger-eu', {
    'subscription-id': keys.subscriptionId,
    'signing-secret': keys.signingSecret,
  });
  secretFile = fixture.file('client-secret', `${SECRET}\n`);
}, 120_000);

afterAll(async () => {
  await fixture?.[Symbol.asyncDispose]();
  await registry?.[Symbol.asyncDispose]();
  await kafka?.[Symbol.asyncDispose]();
  await issuer?.[Symbol.asyncDispose]();
});

const client = (prefix: string): Env => ({
  [`${prefix}_TOKEN_URL`]: issuer.tokenUrl,
  [`${prefix}_CLIENT_ID`]: CLIENT_ID,
  [`${prefix}_CLIENT_SECRET_FILE`]: secretFile,
  [`${prefix}_SCOPE`]: 'kafka',
});

/** Both by the client's tokens. */
const env = (changes: Env = {}): Env => ({
  ...fixture.env,
  KAFKA_BROKERS: kafka.tokens,
  KAFKA_SASL_MECHANISM: 'OAUTHBEARER',
  ...client('KAFKA_OAUTH'),
  SCHEMA_REGISTRY_URL: registry.url,
  ...client('SCHEMA_REGISTRY_OAUTH'),
  SCHEMA_REGISTRY_HEADERS: 'target-sr-cluster=lsrc-1',
  ...changes,
});

const faults = async (changes: Env) =>
  (await findings(env(changes))).filter(({ state }) => state === 'FAULT');

async function post(url: string, bytes = 0) {
  const entityId = randomUUID();
  const body = JSON.stringify({ type: 'payment-status', entityId, padding: 'x'.repeat(bytes) });
  return { entityId, ...(await postSigned(`${url}/webhooks/ledger-eu`, keys, body)) };
}

async function tail(entityId: string) {
  const options = ['--from-beginning', '--limit', '1', '--key', entityId, '--json'];
  const { exitCode, out, notes } = await cli(env(), 'tail', 'payment-status', ...options);
  if (exitCode !== 0) throw new Error(notes);
  return JSON.parse(out) as { value: { entityId: string } };
}

const isReady = async (process: RunningProcess) => (await readiness(await process.adminUrl())).status === 200;

describe('access tokens', () => {
  it('open the brokers and the registry to every process; sessions end, keys and secrets are rotated, the issuer is stopped: it recovers by itself', async () => {
    const urls = { provider: 'http://127.0.0.1:9', publicUrl: 'http://127.0.0.1:9' };
    const [{ process: ingress, url }, control] = await Promise.all([
      fixture.ingress(env({ PUBLISH_DEADLINE_MS: '4000' })),
      fixture.control(urls, env()),
    ]);
    const { entityId, ...answer } = await post(url);
    expect(answer).toMatchObject({ status: 200, text: expect.stringContaining('"stored":"kafka"') });
    expect((await tail(entityId)).value.entityId).toBe(entityId);
    expect((await post(url, LARGE_BYTES)).text).toContain('"stored":"kafka"');
    expect(seen.every((headers) => headers['target-sr-cluster'] === 'lsrc-1')).toBe(true);
    const plan = await cli(env(), 'topics', 'plan', '--partitions', String(PARTITIONS));
    expect([plan.exitCode, plan.notes]).toEqual([0, expect.any(String)]);
    expect(await faults({})).toEqual([]);

    // Through a session's end, and a rotation of the issuer's key: nothing is refused.
    await issuer.rotateKey();
    const end = Date.now() + SESSION_MS * 1.5;
    while (Date.now() < end) {
      expect((await post(url)).status).toBe(200);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }

    // The issuer is stopped for longer than its tokens live, and has another secret when it is back.
    await issuer.stop();
    const why = /there is no access token \(.*\/oauth2\/token: nobody listens there\).*KAFKA_OAUTH_TOKEN_URL/;
    const admin = await ingress.adminUrl();
    await until('the reason is shown', async () => why.test((await readiness(admin)).reasons), 60_000);
    expect((await post(url)).status).toBe(503);
    issuer.secret = RENEWED;
    await issuer.rotateKey({ withdrawn: true });
    await issuer.resume();
    const refused = /gives no access token \(.*status 401, invalid_client\).*KAFKA_OAUTH_CLIENT_SECRET_FILE/;
    await until('the reason is shown', async () => refused.test((await readiness(admin)).reasons), 60_000);
    writeFileSync(secretFile, RENEWED);
    await until('both are ready again', async () => (await isReady(ingress)) && isReady(control), 60_000);
    expect((await post(url)).status).toBe(200);
    expect((await post(url, LARGE_BYTES)).status).toBe(200);

    const metrics = await (await fetch(`${admin}/metrics`)).text();
    expect(metrics).toMatch(/hookline_access_token_requests_total\{use="kafka",outcome="failed"\} [1-9]/);
    expect(metrics).toMatch(/hookline_access_token_end_timestamp_seconds\{use="kafka"\} 1\.\d+e\+9|\d{10}/);
    expect([ingress.exitCode, control.exitCode]).toEqual([null, null]);
    expect(ingress.written() + control.written()).not.toMatch(/horse|eyJ/);
    await Promise.all([ingress.stop(), control.stop()]);
    writeFileSync(secretFile, RENEWED);
  }, 240_000);

  it('come from files that something else renews', async () => {
    const file = fixture.file('token', await issuer.token());
    const none = { ...emptied('KAFKA_OAUTH'), ...emptied('SCHEMA_REGISTRY_OAUTH') };
    const byFile = env({ ...none, KAFKA_OAUTH_TOKEN_FILE: file, SCHEMA_REGISTRY_TOKEN_FILE: file });
    expect((await findings(byFile)).filter(({ state }) => state === 'FAULT')).toEqual([]);
    writeFileSync(file, await issuer.token(CLIENT_ID, -60));
    const found = (await findings(byFile)).find(({ check }) => check === 'brokers');
    expect(found).toMatchObject({
      state: 'FAULT',
      finding: expect.stringMatching(/its token has ended, or is about to: 20/),
    });
    expect(found?.remedy).toContain('renews');
  });

  it.each<[string, () => Promise<Env> | Env, RegExp, RegExp]>([
    [
      "a secret that is not the client's",
      () => ({ KAFKA_OAUTH_CLIENT_SECRET_FILE: fixture.file('wrong', 'wrong-horse') }),
      /gives no access token.*status 401, invalid_client/,
      /KAFKA_OAUTH_CLIENT_SECRET_FILE/,
    ],
    [
      'a token endpoint that is not there',
      () => ({ KAFKA_OAUTH_TOKEN_URL: 'http://127.0.0.1:9/oauth2/token' }),
      /there is no access token.*nobody listens there/,
      /KAFKA_OAUTH_TOKEN_URL/,
    ],
    [
      'tokens that the brokers do not take',
      async () => {
        issuer.audience = 'somebody-else';
        const token = await issuer.token();
        issuer.audience = AUDIENCE;
        return { ...emptied('KAFKA_OAUTH'), KAFKA_OAUTH_TOKEN_FILE: fixture.file('stray', token) };
      },
      /they do not take the access token/,
      /KAFKA_OAUTH_TOKEN_FILE.*audience/,
    ],
  ])('that cannot be had are explained by the doctor: %s', async (_, changes, finding, remedy) => {
    const found = (await faults(await changes())).find(({ check }) => check === 'brokers');
    expect(found).toMatchObject({ finding: expect.stringMatching(finding) });
    expect(found?.remedy).toMatch(remedy);
    expect(JSON.stringify(found)).not.toMatch(/horse|eyJ/);
  });

  it('that the registry does not take are explained', async () => {
    issuer.audience = 'somebody-else';
    const found = (await faults({})).find(({ check }) => check === 'registry');
    issuer.audience = AUDIENCE;
    expect(found).toMatchObject({ finding: expect.stringMatching(/refuses the credentials.*answered 401/) });
    expect(found?.remedy).toContain('access token');
  });
});

const emptied = (prefix: string): Env => ({
  [`${prefix}_TOKEN_URL`]: '',
  [`${prefix}_CLIENT_ID`]: '',
  [`${prefix}_CLIENT_SECRET_FILE`]: '',
  [`${prefix}_SCOPE`]: '',
});
