import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { startSandbox } from '../../src/sandbox/start-sandbox.ts';
import { clientOf } from '../sandbox/support/open-sandbox.ts';
import { cli } from '../support/cli.ts';
import { type BehindProxy, openBehindProxy } from '../support/connect-proxy.ts';
import { ControlFixture, type Result } from '../support/control-fixture.ts';
import { type ScriptedS3, startScriptedS3 } from '../support/object-store/scripted-s3.ts';
import { serve } from '../support/serve.ts';
import { Fixture } from '../support/topics-fixture.ts';
import { until } from '../support/until.ts';

const CREDENTIALS = 'hookline:correct-horse';
const THROUGH = 'requests to https addresses go through the proxy of HTTPS_PROXY';

/** Every https address is a name that the proxy alone knows: no connection to it can be direct. */
let behind: BehindProxy;
let the: ControlFixture;
let s3: ScriptedS3;
let env: Record<string, string>;

beforeAll(async () => {
  const stack = inject('stack');
  behind = await openBehindProxy();
  behind.proxy.credentials = CREDENTIALS;
  s3 = await startScriptedS3();
  const sandbox = await startSandbox({ port: 0, retryScheduleS: [0.2, 0.2, 0.5] });
  const fixture = await Fixture.make(stack);
  const provider = await behind.publish('provider', sandbox.url);
  env = {
    ...s3.env,
    SCHEMA_REGISTRY_URL: await behind.publish('registry', stack.registryUrl),
    SCHEMA_REGISTRY_CA_FILE: behind.caFile,
    BODY_STORE_ENDPOINT: await behind.publish('s3', s3.endpoint),
    BODY_STORE_CA_FILE: behind.caFile,
    CLAIM_CHECK_BYTES: '2000',
    HTTPS_PROXY: behind.proxy.url(`${CREDENTIALS}@`),
    NO_PROXY: '.svc, .cluster.local',
  };
  const ofControl = { ...env, PROVIDER_CA_FILE: behind.caFile };
  const ingress = await fixture.ingress(env);
  const control = await fixture.control({ provider, publicUrl: ingress.url }, ofControl);
  const client = { url: sandbox.url, call: clientOf(sandbox.url).call };
  the = ControlFixture.of({ fixture, sandbox: client, ingress, control }, sandbox.stop);
}, 120_000);

afterAll(async () => {
  await the?.[Symbol.asyncDispose]();
  await s3?.[Symbol.asyncDispose]();
  await behind?.[Symbol.asyncDispose]();
});

const create = (ref: string) => ({ type: 'subscription.create', ref, events: ['payment-status'] });
const faults = (...rules: object[]) => the.sandbox.call('PUT', '/_sandbox/faults', { json: rules });
const at = async (ref: string) => (await the.subscriptions()).filter(({ url }) => url.endsWith(`/${ref}`));
const asked = () => new Set(behind.proxy.asked);

describe('behind a proxy', () => {
  it('control does its whole work, and each process says once what goes through the proxy', async () => {
    expect(await the.run(create('ledger-eu'))).toMatchObject({ status: 'SUCCEEDED' });
    for (const type of ['subscription.update', 'subscription.list', 'subscription.delete'])
      expect(await the.run({ ...create('ledger-eu'), type, ref: 'ledger-eu' })).toMatchObject({
        status: 'SUCCEEDED',
      });
    for (const host of ['registry', 'provider']) expect(asked()).toContain(`${host}.beyond.example:443`);
    const proxy = behind.proxy.url();
    expect(the.control.lines.filter(({ msg }) => msg === THROUGH)).toMatchObject([
      { proxy, through: ['SCHEMA_REGISTRY_URL', 'PROVIDER_AUTH_URL', 'PROVIDER_BASE_URL'], direct: [] },
    ]);
    expect(the.ingress.process.lines.filter(({ msg }) => msg === THROUGH)).toMatchObject([
      { proxy, through: ['SCHEMA_REGISTRY_URL', 'BODY_STORE_ENDPOINT'], direct: [] },
    ]);
  });

  it('ingress writes to the object store, from its main thread and from its workers', async () => {
    await the.run(create('large'));
    const before = s3.objects.size;
    for (const sizeBytes of [10_000, 3_000_000]) {
      const [execution] = await the.trigger({ ref: 'large', event: 'payment-status', sizeBytes });
      expect(execution?.status).toBe(200);
    }
    expect(s3.objects.size).toBe(before + 2);
    expect(asked()).toContain('s3.beyond.example:443');
  });

  it('a command waits while the proxy gives no connection, and is carried out once', async () => {
    behind.refuse(503);
    await the.send('waiting', { ...create('waiting'), commandId: 'waiting' });
    const asks = behind.proxy.asked.length;
    await until('control has asked several times', () => behind.proxy.asked.length > asks + 6);
    expect(await at('waiting')).toEqual([]);
    const unavailable = await until('control says that the provider is unavailable', () =>
      the.control.lines.find(({ why }) => /of HTTPS_PROXY answered 503/.test(String(why))),
    );
    expect(unavailable.why).toContain(behind.proxy.url());
    behind.proxy.mode = 'connect';
    expect(await the.result('waiting')).toMatchObject({ status: 'SUCCEEDED' });
    expect(await at('waiting')).toHaveLength(1);
  });

  it('a call during which the proxy ends may have had its effect: there is one subscription in the end', async () => {
    await faults({ operation: 'create', kind: 'hang', effect: true, times: 1 });
    await the.send('cut', { ...create('cut'), commandId: 'cut' });
    await until('the call has had its effect', async () => (await at('cut')).length === 1);
    behind.proxy.cut();
    expect(await the.result('cut')).toMatchObject({ status: 'SUCCEEDED' } satisfies Partial<Result>);
    expect(await at('cut')).toHaveLength(1);
    const [execution] = await the.trigger({ ref: 'cut' });
    expect(execution?.status).toBe(200);
  });

  it('the doctor says what goes through the proxy, and names what it refuses', async () => {
    const doctor = async () => {
      const ofCli = { ...the.fixture.env, ...env, CONTROL_GROUP_ID: `${the.fixture.prefix}-control` };
      const { out } = await cli(ofCli, 'doctor', '--json');
      return JSON.parse(out) as { check: string; state: string; finding: string; remedy: string }[];
    };
    const named = async (name: string) => (await doctor()).filter(({ check }) => check === name);
    expect(await named('proxy')).toMatchObject([
      { state: 'ok', finding: expect.stringContaining('registry.beyond.example:443 (SCHEMA_REGISTRY_URL)') },
      { state: 'ok', finding: expect.stringContaining('s3.beyond.example:443 (BODY_STORE_ENDPOINT)') },
    ]);
    behind.refuse(403);
    expect((await named('proxy'))[0]).toMatchObject({
      state: 'FAULT',
      finding: expect.stringMatching(/^SCHEMA_REGISTRY_URL: the proxy \S+ of HTTPS_PROXY answered 403/),
      remedy: expect.stringContaining('NO_PROXY'),
    });
    expect(await named('registry')).toMatchObject([{ finding: expect.stringMatching(/HTTPS_PROXY/) }]);
    behind.proxy.mode = 'connect';
  });

  it('nobody writes its password', () => {
    expect(the.fixture.logs()).not.toContain('correct-horse');
  });
});

it('the console reaches its OpenID provider through a proxy that speaks TLS', async () => {
  await using secure = await openBehindProxy({ isTls: true });
  let issuer = '';
  const tokenRequests: string[] = [];
  await using provider = await serve(async (request, response) => {
    response.setHeader('content-type', 'application/json');
    if (request.url === '/token') {
      tokenRequests.push(await text(request));
      return response.writeHead(400).end('{"error":"invalid_grant"}');
    }
    const endpoints = { authorization_endpoint: `${issuer}/authorize`, token_endpoint: `${issuer}/token` };
    return response.end(JSON.stringify({ issuer, ...endpoints }));
  });
  issuer = await secure.publish('login', provider.url);
  const console = the.fixture.start('src/console/main.ts', {
    CONSOLE_PORT: '0',
    CONSOLE_OIDC_ISSUER: issuer,
    CONSOLE_OIDC_CLIENT_ID: 'console',
    CONSOLE_OIDC_CLIENT_SECRET_FILE: the.fixture.file('client-secret', 'a-client-secret-that-is-long'),
    CONSOLE_ROLES: '*=view',
    HTTPS_PROXY: secure.proxy.url(),
    NODE_EXTRA_CA_CERTS: secure.caFile,
  });
  const { port } = await console.logged('console listening');
  const url = `http://127.0.0.1:${port}/login`;
  const { headers } = await fetch(url, { redirect: 'manual' });
  const to = headers.get('location') ?? '';
  expect(to).toMatch(/^https:\/\/login.beyond.example\/authorize\?/);
  const cookie = headers
    .getSetCookie()
    .map((one) => one.split(';')[0])
    .join('; ');
  const back = new URLSearchParams({ code: 'a-code', state: new URL(to).searchParams.get('state') ?? '' });
  await fetch(`${url}/callback?${back}`, { headers: { cookie }, redirect: 'manual' });
  expect(tokenRequests).toEqual([expect.stringContaining('code=a-code')]);
  expect(new Set(secure.proxy.asked)).toEqual(new Set(['login.beyond.example:443']));
});
