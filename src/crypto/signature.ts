import { type Hmac, timingSafeEqual } from 'node:crypto';
import type { SigningKey } from './keys.ts';

/** X-Signature-SHA256: 64 lowercase hexadecimal digits. A header that is sent twice arrives joined by a comma and does not match. */
const SIGNATURE = /^[0-9a-f]{64}$/;
const SIGNATURE_LENGTH = 64;
const NO_SIGNATURE = '0'.repeat(SIGNATURE_LENGTH);
/** Both in buffers that are used again: they are compared in constant time, and at once. */
const given = Buffer.alloc(SIGNATURE_LENGTH);
const expected = Buffer.alloc(SIGNATURE_LENGTH);

/**
 * Checks the signature of one body. The HMACs of `hashed` keys are computed as the body arrives, those of the others over
 * the whole body at the end, and only as far as needed: the first (current) key matches, except while a secret is rotated.
 */
export class SignatureCheck {
  readonly #keys: readonly SigningKey[];
  /** HMACs of the first keys, computed while the body arrives. */
  readonly #hmacs: readonly Hmac[];

  /**
   * @param keys at least one; for an unknown ref decoys
   * @param hashed the first of them, hashed by `update`; none for a body that is there whole
   */
  constructor(keys: readonly SigningKey[], hashed: readonly SigningKey[] = []) {
    if (keys.length === 0) throw new TypeError('a signature is checked with at least one key');
    this.#keys = keys;
    this.#hmacs = hashed.map(({ key }) => key.begin());
  }

  /** For a large body: computes the HMAC of every live key as it arrives, as afterwards each would take too long. */
  static withEach(keys: readonly SigningKey[]): SignatureCheck {
    const live = keys.filter(isLive);
    return live.length > 0 ? new SignatureCheck(live, live) : new SignatureCheck(keys, keys.slice(0, 1));
  }

  static isWellFormed(signature: string | undefined): signature is string {
    return signature !== undefined && SIGNATURE.test(signature);
  }

  /** Whether `signature` could be right for any body: it is well-formed, and a key is live. */
  static canPass(keys: readonly SigningKey[], signature: string | undefined): boolean {
    return SignatureCheck.isWellFormed(signature) && keys.some(isLive);
  }

  update(chunk: Buffer): void {
    for (const hmac of this.#hmacs) hmac.update(chunk);
  }

  /**
   * The key that made `signature`, or null. `body` is all bytes given to `update`. Before a null the HMACs of all keys are
   * computed, whatever the header is, so that a refusal takes the same time for each cause.
   */
  finish(signature: string | undefined, body: Buffer): SigningKey | null {
    given.write(signature?.length === SIGNATURE_LENGTH ? signature : NO_SIGNATURE, 'latin1');
    for (const [n, key] of this.#keys.entries()) {
      const digest = this.#hmacs[n]?.digest('hex') ?? key.key.digest(body);
      expected.write(digest, 'latin1');
      // As texts, too: of a character beyond one byte only the low one was compared.
      if (timingSafeEqual(expected, given) && digest === signature && isLive(key)) return key;
    }
    return null;
  }
}

/** A decoy has no index among the live keys. */
const isLive = ({ index }: SigningKey) => index >= 0;
