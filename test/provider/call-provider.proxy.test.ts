import { expect, it } from 'vitest';
import { openBehindProxy, type ProxyMode } from '../support/connect-proxy.ts';
import { openProviderHarness } from '../support/provider-harness.ts';
import { until } from '../support/until.ts';

/** The provider at a name that the proxy alone knows. */
async function openProxiedProvider() {
  const { proxy, refuse, ...behind } = await openBehindProxy();
  const harness = await openProviderHarness({
    PROVIDER_AUTH_URL: 'https://provider.beyond.example',
    PROVIDER_BASE_URL: 'https://provider.beyond.example',
    PROVIDER_CA_FILE: behind.caFile,
    HTTPS_PROXY: proxy.url(),
  });
  await behind.publish('provider', harness.sandbox.url);
  return {
    ...harness,
    proxy,
    refuse,
    async [Symbol.asyncDispose]() {
      await harness[Symbol.asyncDispose]();
      await behind[Symbol.asyncDispose]();
    },
  };
}

const create = { method: 'POST', path: '/subscriptions', body: {} } as const;
const list = { method: 'GET', path: '/subscriptions' } as const;

it('a call that the proxy gives no connection for was surely not sent, and says why', async () => {
  await using the = await openProxiedProvider();
  expect(await the.call(list)).toMatchObject({ judgement: 'done' });
  const modes: [ProxyMode, RegExp][] = [
    [
      407,
      /^the proxy http:\S+ of HTTPS_PROXY answered 407 to CONNECT provider.beyond.example:443: write user/,
    ],
    ['close', /of HTTPS_PROXY cannot be used/],
  ];
  for (const [mode, why] of modes) {
    the.refuse(mode);
    await until('the connections are closed', () => the.proxy.open === 0);
    expect(await the.call(create)).toMatchObject({
      judgement: 'later',
      status: null,
      notSent: true,
      why: expect.stringMatching(why),
    });
  }
  expect(await the.logged('create')).toEqual([]);
  the.proxy.mode = 'connect';
  expect(await the.call(list)).toMatchObject({ judgement: 'done' });
});

it('a token that the proxy gives no connection for names the proxy', async () => {
  await using the = await openProxiedProvider();
  the.refuse(403);
  await expect(the.call(list)).rejects.toMatchObject({
    code: 'TOKEN_UNAVAILABLE',
    message: expect.stringMatching(/of HTTPS_PROXY answered 403 to CONNECT provider.beyond.example:443/),
  });
});

it('a provider behind a proxy that gives no connections counts as unavailable until it gives them', async () => {
  await using the = await openProxiedProvider();
  await the.call(list);
  the.refuse(502);
  await until('the breaker opens', async () => {
    await the.call(create);
    return the.unavailable.length > 0;
  });
  expect(the.unavailable).toEqual([expect.stringContaining('answered 502 to CONNECT')]);
  the.proxy.mode = 'connect';
  await until('the breaker closes', () => the.unavailable.at(-1) === null);
});
