import { readFile } from 'node:fs/promises';
import { importPKCS8, SignJWT } from 'jose';
import type { ProviderSettings } from './settings.ts';

/** Makes the JWT Bearer token that identifies Hookline (interface, section 5.1). Read or signed anew for each token. */
export type Assertion = () => Promise<string>;

/** How long a signed JWT is valid: it is used at once. */
const LIFETIME_S = 300;

/** @param newId makes the jti */
export function createAssertion(settings: ProviderSettings, newId: () => string): Assertion {
  const { jwtFile, jwtKeyFile } = settings;
  if (jwtFile !== undefined) return async () => (await readFile(jwtFile, 'utf8')).trim();
  if (jwtKeyFile !== undefined) return () => signAssertion(settings, jwtKeyFile, newId());
  throw new TypeError('neither a JWT nor a key to sign one');
}

async function signAssertion(settings: ProviderSettings, keyFile: string, id: string): Promise<string> {
  const { jwtAlgorithm: alg, jwtKeyId: kid, jwtIssuer = '' } = settings;
  const key = await importPKCS8(await readFile(keyFile, 'utf8'), alg);
  return new SignJWT({})
    .setProtectedHeader({ alg, typ: 'JWT', ...(kid === undefined ? {} : { kid }) })
    .setIssuer(jwtIssuer)
    .setSubject(settings.jwtSubject ?? jwtIssuer)
    .setAudience(settings.jwtAudience ?? `${settings.authUrl}/oauth/token`)
    .setIssuedAt()
    .setExpirationTime(`${LIFETIME_S}s`)
    .setJti(id)
    .sign(key);
}
