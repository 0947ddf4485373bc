import {
  type EnvReader,
  Fault,
  integer,
  list,
  optional,
  path,
  scopes,
  setting,
  text,
  url,
  type ValuesOf,
} from '../../config/env.ts';
import { listenAddress, parseCidr } from '../../config/networks.ts';
import { checkPlaintextUrl, isLoopback, plaintextSettings } from '../../config/plaintext-credentials.ts';
import { proxySettings } from '../../config/proxy.ts';
import { prometheusSettings } from '../../config/shared-settings.ts';
import { parseAdminAddress } from '../../runtime/admin-addresses.ts';
import { rolesSetting } from './roles.ts';

/** The token of RFC 9110: a name of a header. */
const HEADER = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

const header = (name: string, about: string) =>
  optional(
    setting(name, { about }, (value) => {
      if (!HEADER.test(value)) throw new Fault(`is ${JSON.stringify(value)}: give the name of a header.`);
      return value.toLowerCase();
    }),
  );

export const consoleSettings = {
  host: listenAddress('CONSOLE_HOST', {
    about:
      'address that the console listens on; another one than a loopback address needs a login, and :: means all addresses',
    fallback: '127.0.0.1',
  }),
  port: integer('CONSOLE_PORT', {
    about: 'port of the console, of its /livez and /readyz; 0 takes a free one',
    fallback: '8070',
    max: 65_535,
  }),
  publicUrl: optional(
    url('CONSOLE_PUBLIC_URL', {
      about:
        'address at which browsers reach the console, without a path; the OpenID provider sends them back to {CONSOLE_PUBLIC_URL}/login/callback; unset means the address that the browser used, with http. A login on another address than a loopback one needs https here',
    }),
  ),
  targets: list(
    'CONSOLE_TARGETS',
    {
      about:
        'addresses of the /metrics and /readyz that the overview reads, separated by commas, such as http://127.0.0.1:9464; of a name with several addresses each one is read, as of a headless Service',
      fallback: '',
    },
    (value) => parseAdminAddress(value).origin,
  ),
  ...prometheusSettings,
  oidcIssuer: optional(
    url('CONSOLE_OIDC_ISSUER', { about: 'issuer of the OpenID provider that users log in at' }),
  ),
  oidcClientId: optional(
    text('CONSOLE_OIDC_CLIENT_ID', { about: 'client id of the console at that provider' }),
  ),
  oidcClientSecretFile: optional(
    path('CONSOLE_OIDC_CLIENT_SECRET_FILE', {
      about: "file with the client's secret; sessions are sealed by a key derived from it",
    }),
  ),
  oidcScope: scopes('CONSOLE_OIDC_SCOPE', {
    about: 'scopes that are asked for; some providers have a further one for groups',
    fallback: 'openid email',
  }),
  oidcGroupsClaim: text('CONSOLE_OIDC_GROUPS_CLAIM', {
    about: "claim of the ID token, or else of the user info, with the user's groups",
    fallback: 'groups',
  }),
  userHeader: header(
    'CONSOLE_USER_HEADER',
    'header in which a proxy names the user whom it has logged in, such as X-Forwarded-User; needs CONSOLE_TRUSTED_PROXIES',
  ),
  groupsHeader: header(
    'CONSOLE_GROUPS_HEADER',
    "header in which that proxy names the user's groups, separated by commas",
  ),
  trustedProxies: list(
    'CONSOLE_TRUSTED_PROXIES',
    {
      about:
        'CIDR ranges of the proxies whose CONSOLE_USER_HEADER is believed; a request from another address is refused',
      fallback: '',
    },
    parseCidr,
  ),
  indexDir: optional(
    text('CONSOLE_INDEX_DIR', {
      about:
        'directory of the index that Find searches, one for each console; unset means a temporary one, and an index that begins anew with each start',
    }),
  ),
  indexMaxBytes: integer('CONSOLE_INDEX_MAX_BYTES', {
    about:
      'maximum number of bytes of that index; about 100 bytes for each record, the oldest ones leave it first',
    fallback: '536870912',
    min: 64 * 1024 ** 2,
  }),
  roles: rolesSetting,
  ...plaintextSettings,
  ...proxySettings,
};

export type ConsoleSettings = ValuesOf<typeof consoleSettings>;

/** What only several variables together show: nobody may reach a console that does not know who they are. */
export function checkConsoleSettings(settings: ConsoleSettings, reader: EnvReader): void {
  const { host, oidcIssuer, oidcClientId, oidcClientSecretFile, userHeader, groupsHeader, roles } = settings;
  const oidc = { CONSOLE_OIDC_ISSUER: oidcIssuer, CONSOLE_OIDC_CLIENT_ID: oidcClientId };
  const all = { ...oidc, CONSOLE_OIDC_CLIENT_SECRET_FILE: oidcClientSecretFile };
  const missing = Object.entries(all).filter(([, value]) => value === undefined);
  if (missing.length > 0 && missing.length < Object.keys(all).length)
    reader.fault(
      `${missing.map(([name]) => name).join(' and ')} must be set too: OpenID Connect needs all three.`,
      Object.keys(all),
    );
  const hasOidc = missing.length === 0;
  const hasHeader = userHeader !== undefined;
  if (hasOidc && hasHeader)
    reader.fault('CONSOLE_OIDC_ISSUER and CONSOLE_USER_HEADER are two ways to log in: set one of them.');
  if (host !== undefined && !isLoopback(host) && !hasOidc && !hasHeader)
    reader.fault(
      `CONSOLE_HOST is ${JSON.stringify(host)}, and nobody would have to log in: set CONSOLE_OIDC_ISSUER, CONSOLE_OIDC_CLIENT_ID and CONSOLE_OIDC_CLIENT_SECRET_FILE, or CONSOLE_USER_HEADER, or listen on 127.0.0.1.`,
      [...Object.keys(all), 'CONSOLE_USER_HEADER'],
    );
  if (hasHeader && !(settings.trustedProxies?.length > 0))
    reader.fault(
      'CONSOLE_USER_HEADER needs CONSOLE_TRUSTED_PROXIES: whoever reaches the console past the proxy could write that header. Give the addresses of the proxy.',
      ['CONSOLE_TRUSTED_PROXIES'],
    );
  if (groupsHeader !== undefined && !hasHeader)
    reader.fault('CONSOLE_GROUPS_HEADER needs CONSOLE_USER_HEADER.', ['CONSOLE_USER_HEADER']);
  if ((hasOidc || hasHeader) && roles?.length === 0)
    reader.fault(
      'CONSOLE_ROLES is empty, and nobody could see anything: give group=role, or *=view for everyone.',
    );
  checkPublicUrl(settings, hasOidc, reader);
  checkPlaintextUrl(
    settings,
    { variable: 'CONSOLE_OIDC_ISSUER', url: oidcIssuer, credential: "the console's client secret" },
    reader,
  );
}

/** The console's own links have no path before them; sessions and codes of logins are credentials. */
function checkPublicUrl(settings: ConsoleSettings, hasOidc: boolean, reader: EnvReader): void {
  const { host, publicUrl, allowPlaintextCredentials } = settings;
  const parsed = publicUrl === undefined ? null : URL.parse(publicUrl);
  if (parsed && parsed.pathname !== '/')
    reader.fault(
      `CONSOLE_PUBLIC_URL has the path ${parsed.pathname}, and the console serves the root of its host alone: give it a host of its own.`,
    );
  const isHere = isLoopback(parsed?.hostname ?? host ?? '');
  if (!hasOidc || isHere || parsed?.protocol === 'https:' || allowPlaintextCredentials) return;
  reader.fault(
    'CONSOLE_PUBLIC_URL must be the https address of the console: sessions and logins would travel without TLS. Set ALLOW_PLAINTEXT_CREDENTIALS to true where nobody else can read that network.',
    ['CONSOLE_PUBLIC_URL'],
  );
}
