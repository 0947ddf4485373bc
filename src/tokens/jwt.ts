import { decodeJwt } from 'jose/jwt/decode';

export type JwtContents = {
  readonly algorithm: string;
  readonly keyId: string | undefined;
  readonly issuer: string;
  readonly subject: string;
  readonly audience: string;
  readonly id: string;
  /** In milliseconds since 1970, both. */
  readonly issuedAt: number;
  readonly endsAt: number;
};

/**
 * A signed JWT (RFC 7519).
 * @param pem the private key, PKCS #8. Errors do not quote it
 */
export async function signJwt(pem: string, contents: JwtContents): Promise<string> {
  const { algorithm: alg, keyId: kid } = contents;
  // Few processes sign any: the others start without it.
  const { importPKCS8, SignJWT } = await import('jose');
  return new SignJWT({})
    .setProtectedHeader({ alg, typ: 'JWT', ...(kid === undefined ? {} : { kid }) })
    .setIssuer(contents.issuer)
    .setSubject(contents.subject)
    .setAudience(contents.audience)
    .setIssuedAt(new Date(contents.issuedAt))
    .setExpirationTime(new Date(contents.endsAt))
    .setJti(contents.id)
    .sign(await importPKCS8(pem, alg));
}

/** When a JWT ends, in milliseconds since 1970; undefined for a token of another kind. Its signature is not checked. */
export function endOfJwt(token: string): number | undefined {
  try {
    const { exp } = decodeJwt(token);
    return exp === undefined ? undefined : exp * 1_000;
  } catch {
    return undefined;
  }
}
