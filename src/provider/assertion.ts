import { readFile } from 'node:fs/promises';
import { importPKCS8, SignJWT } from 'jose';
import { HooklineError } from '../core/errors.ts';
import type { ProviderSettings } from './settings.ts';

/**
 * Makes the JWT Bearer token that identifies Hookline (interface, section 5.1). Read or signed anew for each token.
 * Throws JWT_UNAVAILABLE: a file that is being replaced may be missing or empty for a moment.
 */
export type Assertion = () => Promise<string>;

/** How long a signed JWT is valid: it is used at once. */
const LIFETIME_S = 300;

/** @param newId makes the jti */
export function createAssertion(settings: ProviderSettings, newId: () => string): Assertion {
  const { jwtFile, jwtKeyFile } = settings;
  if (jwtFile !== undefined) return () => orUnavailable(readAssertion(jwtFile));
  if (jwtKeyFile !== undefined) return () => orUnavailable(signAssertion(settings, jwtKeyFile, newId()));
  throw new TypeError('neither a JWT nor a key to sign one');
}

async function readAssertion(file: string): Promise<string> {
  const jwt = (await readFile(file, 'utf8')).trim();
  if (jwt === '') throw new Error(`${file} is empty`);
  return jwt;
}

/** Neither the file system nor jose quotes in its errors what stands in a file. */
const orUnavailable = (made: Promise<string>) =>
  made.catch((cause: Error) =>
    Promise.reject(new HooklineError('JWT_UNAVAILABLE', cause.message, { cause })),
  );

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
