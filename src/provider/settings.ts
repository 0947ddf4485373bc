import { readFileSync } from 'node:fs';
import {
  type EnvReader,
  Fault,
  oneOf,
  optional,
  path,
  scopes,
  setting,
  text,
  unreadable,
  url,
  type ValuesOf,
} from '../config/env.ts';
import { checkPlaintextUrl, plaintextSettings } from '../config/plaintext-credentials.ts';
import { proxySettings } from '../config/proxy.ts';
import { DEFAULT_DIALECT, parseDialect } from './dialect.ts';

const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'EdDSA'] as const;

/** For those as well who only have to know the events by name. */
export const dialectSettings = {
  dialect: setting(
    'PROVIDER_DIALECT_FILE',
    { about: 'JSON file that overrides the shapes of the management operations key by key', fallback: '' },
    (file, source) => {
      if (file === '') return DEFAULT_DIALECT;
      const fault = source.fileFault(file);
      if (fault) throw unreadable(`${JSON.stringify(file)},`, fault);
      try {
        return parseDialect(readFileSync(file, 'utf8'));
      } catch (error) {
        throw new Fault(`(${file}): ${(error as Error).message}`);
      }
    },
  ),
};

export const providerSettings = {
  authUrl: url('PROVIDER_AUTH_URL', { about: "address of the provider's authentication API" }),
  baseUrl: url('PROVIDER_BASE_URL', { about: "address of the provider's webhook management API" }),
  scope: scopes('PROVIDER_SCOPE', { about: 'scopes to request a token for, separated by spaces' }),
  grantType: text('PROVIDER_GRANT_TYPE', {
    about: 'grant_type of the token request',
    fallback: 'client_credentials',
  }),
  clientAssertionType: text('PROVIDER_CLIENT_ASSERTION_TYPE', {
    about: 'client_assertion_type of the token request',
    fallback: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
  }),
  jwtFile: optional(
    path('PROVIDER_JWT_FILE', {
      about: 'file with the predefined JWT Bearer token; read again for each token request',
    }),
  ),
  jwtKeyFile: optional(
    path('PROVIDER_JWT_KEY_FILE', { about: 'PEM file (PKCS #8) with the private key to sign JWTs with' }),
  ),
  jwtIssuer: optional(text('PROVIDER_JWT_ISSUER', { about: 'iss of a signed JWT' })),
  jwtSubject: optional(
    text('PROVIDER_JWT_SUBJECT', { about: 'sub of a signed JWT; unset means the issuer' }),
  ),
  jwtAudience: optional(
    text('PROVIDER_JWT_AUDIENCE', { about: 'aud of a signed JWT; unset means the token address' }),
  ),
  jwtKeyId: optional(text('PROVIDER_JWT_KEY_ID', { about: 'kid in the header of a signed JWT' })),
  jwtAlgorithm: oneOf('PROVIDER_JWT_ALGORITHM', {
    about: 'signature algorithm of a signed JWT',
    fallback: 'RS256',
    values: ALGORITHMS,
  }),
  caFile: optional(
    path('PROVIDER_CA_FILE', {
      about: "PEM file with the provider's certificate authority; read again when it changes",
    }),
  ),
  certFile: optional(
    path('PROVIDER_CERT_FILE', {
      about: "PEM file with Hookline's client certificate for the provider; read again when it changes",
    }),
  ),
  keyFile: optional(
    path('PROVIDER_KEY_FILE', { about: "PEM file with that certificate's key; read again when it changes" }),
  ),
  ...dialectSettings,
  ...plaintextSettings,
  ...proxySettings,
};

export type ProviderSettings = ValuesOf<typeof providerSettings>;

/** What only several variables together show. */
export function checkProviderSettings(settings: ProviderSettings, reader: EnvReader): void {
  if ((settings.jwtFile === undefined) === (settings.jwtKeyFile === undefined)) {
    reader.fault(
      'Set one of PROVIDER_JWT_FILE (a predefined JWT) and PROVIDER_JWT_KEY_FILE (a key to sign with).',
      ['PROVIDER_JWT_FILE', 'PROVIDER_JWT_KEY_FILE'],
    );
  }
  if (settings.jwtKeyFile !== undefined && settings.jwtIssuer === undefined) {
    reader.fault('PROVIDER_JWT_KEY_FILE needs PROVIDER_JWT_ISSUER: whose JWT is it?');
  }
  if ((settings.certFile === undefined) !== (settings.keyFile === undefined)) {
    reader.fault('PROVIDER_CERT_FILE and PROVIDER_KEY_FILE go together: set both or none.', [
      'PROVIDER_CERT_FILE',
      'PROVIDER_KEY_FILE',
    ]);
  }
  const { authUrl, baseUrl } = settings;
  const urls = [
    { variable: 'PROVIDER_AUTH_URL', url: authUrl, credential: 'the JWT' },
    { variable: 'PROVIDER_BASE_URL', url: baseUrl, credential: 'access tokens' },
  ];
  for (const one of urls) checkPlaintextUrl(settings, one, reader);
}
