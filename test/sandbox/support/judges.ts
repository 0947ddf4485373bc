/** Judges of signatures and sealed bodies that share no code with the sandbox: openssl's command and WebCrypto. */
import { execFileSync } from 'node:child_process';

/** HMAC-SHA256 in lowercase hex, by the openssl command. */
export function opensslHmac(key: string, body: Buffer): string {
  const hexKey = Buffer.from(key, 'utf8').toString('hex');
  const said = execFileSync('openssl', ['dgst', '-sha256', '-mac', 'HMAC', '-macopt', `hexkey:${hexKey}`], {
    input: body,
  });
  return /([0-9a-f]{64})\s*$/.exec(said.toString())?.[1] ?? `openssl said ${said}`;
}

/** Opens AES-256-GCM by WebCrypto; throws where the tag doesn't fit. */
export async function webCryptoOpen(
  sealed: { iv: Buffer; ciphertext: Buffer; tag: Buffer },
  key: string,
): Promise<string> {
  const imported = await crypto.subtle.importKey('raw', new TextEncoder().encode(key), 'AES-GCM', false, [
    'decrypt',
  ]);
  const plain = await crypto.subtle.decrypt(
    { name: 'AES-GCM', iv: new Uint8Array(sealed.iv), tagLength: 128 },
    imported,
    new Uint8Array(Buffer.concat([sealed.ciphertext, sealed.tag])),
  );
  return new TextDecoder().decode(plain);
}

/** Takes the default layout apart: a 12-byte IV, the ciphertext, a 16-byte tag. */
export const splitDefault = (body: Buffer) => ({
  iv: body.subarray(0, 12),
  ciphertext: body.subarray(12, -16),
  tag: body.subarray(-16),
});
