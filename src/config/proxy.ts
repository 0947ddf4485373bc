import { isIP } from 'node:net';
import { Fault, optional, type Settings, setting, type ValuesOf } from './env.ts';
import { createSourceFilter, parseCidr, withoutBrackets } from './networks.ts';
import { isLoopback } from './plaintext-credentials.ts';

/** An HTTP proxy, as workers get it too: plain values. */
export type HttpProxy = {
  /** Its address without user and password: what is told of it. */
  readonly origin: string;
  /** The header Proxy-Authorization. */
  readonly authorization: string | undefined;
};

/** What NO_PROXY names: a host with its subdomains, or a network; all ports or one. `*` is every host. */
type Exception = { readonly port: number | undefined } & (
  | { readonly name: string }
  | { readonly network: string }
);

/** Part of the settings of everything that sends requests to https addresses. */
export const proxySettings = {
  proxy: optional(
    setting(
      'HTTPS_PROXY',
      {
        about:
          'HTTP proxy that requests to https addresses go through (CONNECT), such as http://proxy.example:3128; https:// for TLS to the proxy itself, user:password@ before its host for Basic authentication. Connections to Kafka, to http addresses, and to loopback and link-local addresses are always direct; unset means that all are',
      },
      parseProxy,
    ),
  ),
  noProxy: setting(
    'NO_PROXY',
    {
      about:
        'hosts that HTTPS_PROXY is not used for, separated by commas or spaces: name and .name (the host and its subdomains), an IP address, a CIDR (for addresses that are written as such in a URL: names are not looked up), each of them but a CIDR also with :port; * means all. Not read without HTTPS_PROXY',
      fallback: '',
    },
    (value, { env }) =>
      Object.freeze(env.HTTPS_PROXY?.trim() ? value.split(/[\s,]+/).flatMap(parseException) : []),
  ),
};

export type ProxySettings = ValuesOf<typeof proxySettings>;

/** Every connection is direct. */
export const NO_PROXIES: ProxySettings = { proxy: undefined, noProxy: [] };

function parseProxy(value: string): HttpProxy {
  const url = URL.parse(value);
  const isAddress = url !== null && /^https?:\/\//i.test(value);
  const isBare = url?.pathname === '/' && url.search === '' && url.hash === '';
  const credentials = isAddress && isBare && credentialsIn(url);
  // Nothing is quoted of what may hold a password.
  if (!credentials) {
    const given = value.includes('@') ? '' : ` ${JSON.stringify(value)}:`;
    throw new Fault(
      `is no address of an HTTP proxy:${given} give http://host:port or https://host:port, a user and password before the host as user:password@, their special characters percent-encoded.`,
    );
  }
  const authorization =
    credentials === ':' ? undefined : `Basic ${Buffer.from(credentials).toString('base64')}`;
  return Object.freeze({ origin: url.origin, authorization });
}

function credentialsIn({ username, password }: URL): string | undefined {
  try {
    return `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  } catch {
    return undefined;
  }
}

const NAME = /^(?:\*?\.)?([a-z0-9_-]+(?:\.[a-z0-9_-]+)*)\.?(?::(\d{1,5}))?$/;
const ADDRESS_AND_PORT = /^\[([0-9a-f:.]+)\](?::(\d{1,5}))?$/;

function parseException(text: string): Exception[] {
  const entry = text.toLowerCase();
  if (entry === '') return [];
  if (entry === '*') return [{ name: '*', port: undefined }];
  try {
    if (entry.includes('/') || isIP(entry) > 0) return [{ network: parseCidr(entry), port: undefined }];
    const [, host = '', digits] = ADDRESS_AND_PORT.exec(entry) ?? NAME.exec(entry) ?? [];
    const port = digits === undefined ? undefined : Number(digits);
    if (isIP(host) > 0) return [{ network: parseCidr(host), port }];
    if (host !== '' && !entry.startsWith('[')) return [{ name: host, port }];
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
  }
  const given = text.includes('@') ? 'an entry with @' : JSON.stringify(text);
  throw new Fault(
    `has ${given}: give name, .name, name:port, an IP address, a CIDR or *, separated by commas.`,
  );
}

const isLinkLocal = createSourceFilter(['169.254.0.0/16', 'fe80::/10']);

/**
 * The proxy on the way to an https address; undefined where the connection is direct.
 * @param host IPv6 addresses may be in brackets, as in a URL
 */
export function proxyTo(
  { proxy, noProxy }: ProxySettings,
  { host, port }: { readonly host: string; readonly port: number },
): HttpProxy | undefined {
  if (!proxy) return undefined;
  const name = withoutBrackets(host.toLowerCase()).replace(/\.$/, '');
  if (isLoopback(name) || isLinkLocal(name)) return undefined;
  const isExcepted = noProxy.some((one) => (one.port ?? port) === port && covers(one, name));
  return isExcepted ? undefined : proxy;
}

const covers = (one: Exception, host: string): boolean =>
  'network' in one
    ? createSourceFilter([one.network])(host)
    : one.name === '*' || one.name === host || (isIP(host) === 0 && host.endsWith(`.${one.name}`));

/** An https address that a variable names. */
export type Route = {
  readonly variable: string;
  readonly host: string;
  readonly port: number;
  readonly proxy: HttpProxy | undefined;
};

type Values = Readonly<Record<string, unknown>>;

/** AWS's own address of a bucket, as its SDK has it. Where AWS's own variables and files give the region, it is not known here. */
function ofAws({ address, region }: Values): string {
  if (typeof region !== 'string') return 'https://s3.amazonaws.com';
  const host = `s3.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`;
  const { bucket } = address as { bucket: string };
  // No certificate has a bucket with dots in its name.
  return bucket.includes('.') ? `https://${host}` : `https://${bucket}.${host}`;
}

/** How each https address is reached that the settings name, other than Hookline's own. */
export function routesOf(
  groups: Readonly<Record<string, Settings>>,
  config: { readonly kafka?: ProxySettings; readonly [group: string]: unknown },
): Route[] {
  const routes = new Map<string, Route>();
  for (const [group, own] of Object.entries(groups)) {
    const values = config[group] as Values | undefined;
    for (const [key, { name: variable }] of Object.entries(own)) {
      const value = values?.[key];
      const isOfAws = variable === 'BODY_STORE' && value !== undefined && values?.endpoint === undefined;
      const url = URL.parse(isOfAws ? ofAws(values!) : String(value));
      if (url?.protocol !== 'https:' || variable.endsWith('PUBLIC_URL')) continue;
      const to = { host: url.hostname, port: Number(url.port || 443) };
      routes.set(variable, { variable, ...to, proxy: proxyTo(config.kafka ?? NO_PROXIES, to) });
    }
  }
  return [...routes.values()];
}
