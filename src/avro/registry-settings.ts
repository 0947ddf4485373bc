import { type EnvReader, Fault, list, optional, path, text, url, type ValuesOf } from '../config/env.ts';
import { checkPlaintextUrl, plaintextSettings } from '../config/plaintext-credentials.ts';
import { proxySettings } from '../config/proxy.ts';
import { checkOauthSettings, oauthSettings } from '../tokens/settings.ts';

export const registrySettings = {
  url: url('SCHEMA_REGISTRY_URL', { about: "address of the schema registry's Confluent API" }),
  username: optional(
    text('SCHEMA_REGISTRY_USERNAME', { about: 'user for basic authentication at the registry' }),
  ),
  passwordFile: optional(path('SCHEMA_REGISTRY_PASSWORD_FILE', { about: "file with that user's password" })),
  ...oauthSettings('SCHEMA_REGISTRY_OAUTH', 'the schema registry'),
  tokenFile: optional(
    path('SCHEMA_REGISTRY_TOKEN_FILE', {
      about: 'file with a bearer token that something else renews; read again before each use',
    }),
  ),
  headers: list(
    'SCHEMA_REGISTRY_HEADERS',
    {
      about:
        'further headers of each request to the registry, as name=value separated by commas, such as target-sr-cluster=lsrc-1,Confluent-Identity-Pool-Id=pool-1',
      fallback: '',
    },
    parseHeader,
  ),
  caFile: optional(
    path('SCHEMA_REGISTRY_CA_FILE', { about: "PEM file with the registry's certificate authority" }),
  ),
  certFile: optional(
    path('SCHEMA_REGISTRY_CERT_FILE', {
      about: "PEM file with Hookline's client certificate for the registry",
    }),
  ),
  keyFile: optional(path('SCHEMA_REGISTRY_KEY_FILE', { about: "PEM file with that certificate's key" })),
  ...plaintextSettings,
  ...proxySettings,
};

export type RegistrySettings = ValuesOf<typeof registrySettings>;

/** What carries credentials comes from files. */
const SECRET_HEADERS = /^(proxy-)?authorization$|^cookie$/i;

/** What HTTP itself writes (RFC 9110, 7.6.1 and 8.6), or the registry's client says of each request. */
const OWN_HEADERS =
  /^(host|connection|keep-alive|te|trailer|transfer-encoding|upgrade|expect|content-(length|type|encoding)|accept)$/i;

const firstWord = (text: string): string => /^[\w-]*/.exec(text)?.[0] ?? '';

/** RFC 9110, 5.1 and 5.5. */
function parseHeader(pair: string): readonly [name: string, value: string] {
  const [, name = '', value = ''] =
    /^([!#$%&'*+.^_`|~0-9A-Za-z-]+)=([\x21-\x7e][\x20-\x7e]*)$/.exec(pair) ?? [];
  if (SECRET_HEADERS.test(name))
    throw new Fault(
      `names the header ${name}: credentials have variables of their own, and are read from files.`,
    );
  if (OWN_HEADERS.test(name))
    throw new Fault(`names the header ${name}, which Hookline itself sets: leave it out.`);
  // What stands behind the name may be a secret.
  if (name === '')
    throw new Fault(`has an entry that begins with ${JSON.stringify(firstWord(pair))}: give name=value.`);
  return [name, value];
}

/** What only several variables together show. */
export function checkRegistrySettings(settings: RegistrySettings, reader: EnvReader): void {
  const { url, username, passwordFile, tokenFile, oauthTokenUrl, caFile, certFile, keyFile } = settings;
  if ((username === undefined) !== (passwordFile === undefined)) {
    reader.fault(
      'SCHEMA_REGISTRY_USERNAME and SCHEMA_REGISTRY_PASSWORD_FILE go together: set both or none.',
      ['SCHEMA_REGISTRY_PASSWORD_FILE'],
    );
  }
  if ([username, tokenFile, oauthTokenUrl].filter((one) => one !== undefined).length > 1) {
    reader.fault(
      'Set one of SCHEMA_REGISTRY_USERNAME, SCHEMA_REGISTRY_OAUTH_TOKEN_URL and SCHEMA_REGISTRY_TOKEN_FILE.',
    );
  }
  if ((certFile === undefined) !== (keyFile === undefined)) {
    reader.fault('SCHEMA_REGISTRY_CERT_FILE and SCHEMA_REGISTRY_KEY_FILE go together: set both or none.', [
      'SCHEMA_REGISTRY_CERT_FILE',
      'SCHEMA_REGISTRY_KEY_FILE',
    ]);
  }
  if ((caFile ?? certFile) !== undefined && url?.startsWith('http:')) {
    reader.fault(
      'SCHEMA_REGISTRY_CA_FILE and SCHEMA_REGISTRY_CERT_FILE need an https address in SCHEMA_REGISTRY_URL.',
    );
  }
  checkOauthSettings('SCHEMA_REGISTRY_OAUTH', settings, reader);
  const credential = username === undefined ? 'access tokens' : 'the password of SCHEMA_REGISTRY_USERNAME';
  if ((username ?? tokenFile ?? oauthTokenUrl) !== undefined)
    checkPlaintextUrl(settings, { variable: 'SCHEMA_REGISTRY_URL', url, credential }, reader);
}

/** Where the schemas are: files here, ids and the schemas of others at the registry. */
export const schemaSettings = {
  dir: optional(
    path('SCHEMAS_DIR', {
      about:
        'directory with events/*.avsc and commands/*.avsc; unset means the schemas that are part of Hookline',
    }),
  ),
};
