import { createHmac, type Hmac, timingSafeEqual } from 'node:crypto';
import type { SigningKey } from './keys.ts';

/** X-Signature-SHA256: 64 lowercase hexadecimal digits. A header that is sent twice arrives joined by a comma and does not match. */
const SIGNATURE = /^[0-9a-f]{64}$/;

/**
 * The HMAC of one body, computed as the body arrives with the first (current) key. The other keys are tried over the
 * whole body only if the current one does not match, as during the rotation of a secret.
 */
export class SignatureCheck {
  readonly #keys: readonly SigningKey[];
  /** HMACs of the first keys, computed while the body arrives. */
  readonly #hmacs: readonly Hmac[];

  /** `keys` has at least one key; for an unknown ref it has decoys. */
  constructor(keys: readonly SigningKey[], hashed: readonly SigningKey[] = keys.slice(0, 1)) {
    if (keys.length === 0) throw new TypeError('a signature is checked with at least one key');
    this.#keys = keys;
    this.#hmacs = hashed.map(({ key }) => createHmac('sha256', key));
  }

  /** For a large body: computes the HMAC of every live key as it arrives, as afterwards each would take too long. */
  static withEach(keys: readonly SigningKey[]): SignatureCheck {
    const live = keys.filter(isLive);
    return live.length > 0 ? new SignatureCheck(live, live) : new SignatureCheck(keys);
  }

  /** Whether `signature` could be right for any body: it is well-formed, and a key is live. */
  static canPass(keys: readonly SigningKey[], signature: string | undefined): boolean {
    return signature !== undefined && SIGNATURE.test(signature) && keys.some(isLive);
  }

  update(chunk: Buffer): void {
    for (const hmac of this.#hmacs) hmac.update(chunk);
  }

  /**
   * The key that made `signature`, or null. `body` is all bytes given to `update`. Before a null the HMACs of all keys are
   * computed, whatever the header is, so that a refusal takes the same time for each cause.
   */
  finish(signature: string | undefined, body: Buffer): SigningKey | null {
    const wellFormed = signature !== undefined && SIGNATURE.test(signature);
    const given = Buffer.from(wellFormed ? signature : '00'.repeat(32), 'hex');
    for (const [n, key] of this.#keys.entries()) {
      const hmac = this.#hmacs[n] ?? createHmac('sha256', key.key).update(body);
      if (timingSafeEqual(hmac.digest(), given) && wellFormed && isLive(key)) return key;
    }
    return null;
  }
}

/** A decoy has no index among the live keys. */
const isLive = ({ index }: SigningKey) => index >= 0;
