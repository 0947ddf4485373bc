import { type EnvReader, optional, path, scopes, text, url } from '../config/env.ts';
import { checkPlaintextUrl } from '../config/plaintext-credentials.ts';
import type { ProxySettings } from '../config/proxy.ts';

type Prefix = 'KAFKA_OAUTH' | 'SCHEMA_REGISTRY_OAUTH';

/** How to obtain an access token by client credentials. @param whom who takes the token: "the brokers" */
export const oauthSettings = (prefix: Prefix, whom: string) => ({
  oauthTokenUrl: optional(
    url(`${prefix}_TOKEN_URL`, {
      about: `token endpoint to ask for access tokens for ${whom} (client credentials grant)`,
    }),
  ),
  oauthClientId: optional(text(`${prefix}_CLIENT_ID`, { about: 'client that the tokens are for' })),
  oauthClientSecretFile: optional(
    path(`${prefix}_CLIENT_SECRET_FILE`, {
      about: "file with that client's secret; read again for each token",
    }),
  ),
  oauthScope: optional(scopes(`${prefix}_SCOPE`, { about: 'scopes to ask for, separated by spaces' })),
  oauthCaFile: optional(
    path(`${prefix}_CA_FILE`, {
      about: "PEM file with the token endpoint's certificate authority; read again when it changes",
    }),
  ),
});

export type OauthSettings = ProxySettings & {
  readonly oauthTokenUrl: string | undefined;
  readonly oauthClientId: string | undefined;
  readonly oauthClientSecretFile: string | undefined;
  readonly oauthScope: string | undefined;
  readonly oauthCaFile: string | undefined;
};

/** Adds a fault where the variables of one token endpoint do not go together. */
export function checkOauthSettings(
  prefix: Prefix,
  settings: OauthSettings & { readonly allowPlaintextCredentials: boolean },
  reader: EnvReader,
): void {
  const { oauthTokenUrl, oauthClientId, oauthClientSecretFile, oauthScope, oauthCaFile } = settings;
  const needed = [oauthTokenUrl, oauthClientId, oauthClientSecretFile];
  if (needed.some((one) => one !== undefined) && needed.includes(undefined)) {
    reader.fault(
      `${prefix}_TOKEN_URL, ${prefix}_CLIENT_ID and ${prefix}_CLIENT_SECRET_FILE go together: set all three or none.`,
      [`${prefix}_TOKEN_URL`, `${prefix}_CLIENT_SECRET_FILE`],
    );
  }
  if (oauthTokenUrl === undefined && (oauthScope ?? oauthCaFile) !== undefined) {
    reader.fault(`${prefix}_SCOPE and ${prefix}_CA_FILE need ${prefix}_TOKEN_URL.`, [`${prefix}_TOKEN_URL`]);
  }
  if (oauthCaFile !== undefined && oauthTokenUrl?.startsWith('http:')) {
    reader.fault(`${prefix}_CA_FILE needs an https address in ${prefix}_TOKEN_URL.`);
  }
  const variable = `${prefix}_TOKEN_URL`;
  const credential = `the secret of ${prefix}_CLIENT_ID`;
  checkPlaintextUrl(settings, { variable, url: oauthTokenUrl, credential }, reader);
}
