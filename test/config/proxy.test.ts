import { describe, expect, it } from 'vitest';
import { envReader } from '../../src/config/env.ts';
import { NO_PROXIES, proxySettings, proxyTo, routesOf } from '../../src/config/proxy.ts';
import { controlConfig } from '../../src/control/config.ts';
import { ingressConfig } from '../../src/ingress/settings.ts';
import { faultsOf } from '../support/faults-of.ts';

const read = (env: Record<string, string>) => {
  const reader = envReader({ env, fileFault: () => null });
  return reader.done(reader.read(proxySettings));
};

const HTTPS_PROXY = 'http://proxy.example:3128';
const isProxied = (noProxy: string, host: string, port = 443) =>
  proxyTo(read({ HTTPS_PROXY, NO_PROXY: noProxy }), { host, port }) !== undefined;

describe('HTTPS_PROXY', () => {
  it.each<[string, string, string | undefined]>([
    ['http://proxy.example:3128', 'http://proxy.example:3128', undefined],
    ['HTTPS://Proxy.example/', 'https://proxy.example', undefined],
    ['http://[2001:db8::1]:3128', 'http://[2001:db8::1]:3128', undefined],
    ['http://user:p%40ss%3A@proxy.example:3128', 'http://proxy.example:3128', 'user:p@ss:'],
    ['http://user@proxy.example', 'http://proxy.example', 'user:'],
  ])('%s is a proxy', (text, origin, credentials) => {
    const { proxy } = read({ HTTPS_PROXY: text });
    const sent = proxy?.authorization?.replace('Basic ', '');
    expect({ origin: proxy?.origin, credentials: sent && Buffer.from(sent, 'base64').toString() }).toEqual({
      origin,
      credentials,
    });
  });

  it.each([
    'proxy.example:3128',
    'socks5://proxy.example',
    'http://',
    'http://proxy.example:99999',
    'http://proxy.example/path',
    'http://proxy.example?query',
    'http://user:p%zz@proxy.example',
    'http://user:horse#battery@proxy.example',
    'user:horse-battery@proxy.example:3128',
  ])('%s is refused, its password not quoted', (text) => {
    const [fault = ''] = faultsOf(() => read({ HTTPS_PROXY: text }));
    expect(fault).toMatch(/^HTTPS_PROXY is no address of an HTTP proxy:.*give http:\/\/host:port/);
    expect(fault).not.toMatch(/horse|p%zz/);
  });

  it('is unset where it is empty', () => {
    expect(read({ HTTPS_PROXY: ' ', NO_PROXY: 'what is wrong/here' })).toEqual(NO_PROXIES);
  });
});

describe('NO_PROXY', () => {
  it.each([
    ['registry.example', 'registry.example'],
    ['registry.example', 'a.registry.example'],
    ['.example', 'registry.example'],
    ['.example', 'example'],
    ['*.example', 'registry.example'],
    ['REGISTRY.example.', 'registry.EXAMPLE'],
    ['registry.example', 'registry.example.'],
    ['.svc,.cluster.local', 'registry.kafka.svc'],
    ['one.example two.example', 'two.example'],
    [' one.example ,\n two.example,,', 'two.example'],
    ['registry.example:443', 'registry.example'],
    ['10.1.2.3', '10.1.2.3'],
    ['10.0.0.0/8', '10.1.2.3'],
    ['10.1.2.3:443', '10.1.2.3'],
    ['2001:db8::1', '[2001:db8::1]'],
    ['[2001:DB8:0::1]', '2001:db8::1'],
    ['[2001:db8::1]:443', '2001:db8::1'],
    ['2001:db8::/32', '[2001:db8::1]'],
    ['*', 'registry.example'],
    ['', 'localhost'],
    ['', '127.0.0.1'],
    ['', '[::1]'],
    ['', '169.254.169.254'],
    ['', 'fe80::1'],
  ])('%j: %s is reached directly', (noProxy, host) => {
    expect(isProxied(noProxy, host)).toBe(false);
  });

  it.each<[string, string, number]>([
    ['', 'registry.example', 443],
    ['registry.example', 'notregistry.example', 443],
    ['registry.example', 'registry.example.org', 443],
    ['registry.example:8081', 'registry.example', 443],
    ['10.0.0.0/8', 'ten.example', 443],
    ['10.0.0.0/8', '11.1.2.3', 443],
    ['0.1', '10.0.0.1', 443],
    ['[2001:db8::1]:8081', '2001:db8::1', 443],
  ])('%j: %s:%d goes through the proxy', (noProxy, host, port) => {
    expect(isProxied(noProxy, host, port)).toBe(true);
  });

  it.each(['http://registry.example', '10.0.0.0/99', '[registry]', 'a..b', 'registry.example:port', '[::1'])(
    '%s is refused',
    (entry) => {
      expect(faultsOf(() => read({ HTTPS_PROXY, NO_PROXY: `ok.example,${entry}` }))).toEqual([
        `NO_PROXY has ${JSON.stringify(entry)}: give name, .name, name:port, an IP address, a CIDR or *, separated by commas.`,
      ]);
    },
  );
});

describe('the routes', () => {
  it('are those of every https address that is set', () => {
    const settings = read({ HTTPS_PROXY, NO_PROXY: '.svc' });
    const kafka = { ...settings, oauthTokenUrl: 'https://login.example/token' };
    const registry = { url: 'https://registry.kafka.svc:8081', oauthTokenUrl: 'http://login.example' };
    const provider = { authUrl: 'https://auth.example', baseUrl: 'https://api.example:8443/v1' };
    const control = { publicUrl: 'https://hooks.example' };
    const routes = routesOf(controlConfig, { kafka, registry, provider, control });
    expect(
      routes.map(({ variable, host, port, proxy }) => [variable, `${host}:${port}`, proxy?.origin]),
    ).toEqual([
      ['KAFKA_OAUTH_TOKEN_URL', 'login.example:443', HTTPS_PROXY],
      ['SCHEMA_REGISTRY_URL', 'registry.kafka.svc:8081', undefined],
      ['PROVIDER_AUTH_URL', 'auth.example:443', HTTPS_PROXY],
      ['PROVIDER_BASE_URL', 'api.example:8443', HTTPS_PROXY],
    ]);
  });

  it.each<[string | undefined, string[]]>([
    [undefined, ['BODY_STORE']],
    ['https://s3.example', ['BODY_STORE_ENDPOINT']],
    ['http://minio', []],
  ])('have that of an object store at %s', (endpoint, variables) => {
    const bodyStore = { address: { bucket: 'events', prefix: '' }, endpoint };
    const routes = routesOf(ingressConfig, { kafka: read({ HTTPS_PROXY }), bodyStore });
    expect(routes.map(({ variable }) => variable)).toEqual(variables);
  });

  it.each([
    ['events', 'eu-west-1', 'events.s3.eu-west-1.amazonaws.com'],
    ['my.events', 'eu-west-1', 's3.eu-west-1.amazonaws.com'],
    ['events', 'cn-north-1', 'events.s3.cn-north-1.amazonaws.com.cn'],
    ['events', undefined, 's3.amazonaws.com'],
  ])('have the address of bucket %s of AWS in region %s', (bucket, region, host) => {
    const bodyStore = { address: { bucket, prefix: '' }, region };
    const kafka = read({ HTTPS_PROXY, NO_PROXY: '.s3.eu-west-1.amazonaws.com' });
    const [route] = routesOf(ingressConfig, { kafka, bodyStore });
    expect(route).toMatchObject({
      host,
      proxy: region === 'eu-west-1' ? undefined : { origin: HTTPS_PROXY },
    });
  });
});
