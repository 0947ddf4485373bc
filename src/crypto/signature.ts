import { createHmac, type Hmac, timingSafeEqual } from 'node:crypto';
import type { SigningKey } from './keys.ts';

/** X-Signature-SHA256: 64 lowercase hexadecimal digits. A header sent twice arrives joined by a comma and fits not. */
const SIGNATURE = /^[0-9a-f]{64}$/;

/**
 * The HMAC of one body, computed as the body arrives with the first (current) key. The other keys are tried over the
 * whole body only when the current one doesn't match: while a secret is being rotated.
 */
export class SignatureCheck {
  readonly #keys: readonly SigningKey[];
  readonly #hmac: Hmac;

  /** `keys` holds at least one key; for an unknown ref it holds decoys. */
  constructor(keys: readonly SigningKey[]) {
    const [current] = keys;
    if (current === undefined) throw new TypeError('a signature is checked with at least one key');
    this.#keys = keys;
    this.#hmac = createHmac('sha256', current.key);
  }

  update(chunk: Buffer): void {
    this.#hmac.update(chunk);
  }

  /**
   * The key that made `signature`, or null. `body` is what `update` has seen, in one piece. Every key is computed
   * before a null, whatever the header looks like, so that a refusal takes the same time for each cause.
   */
  finish(signature: string | undefined, body: Buffer): SigningKey | null {
    const wellFormed = signature !== undefined && SIGNATURE.test(signature);
    const given = Buffer.from(wellFormed ? signature : '00'.repeat(32), 'hex');
    for (const [n, key] of this.#keys.entries()) {
      const hmac = n === 0 ? this.#hmac : createHmac('sha256', key.key).update(body);
      if (timingSafeEqual(hmac.digest(), given) && wellFormed && key.place >= 0) return key;
    }
    return null;
  }
}
