import { parseSealingKeys, type SealingKeys } from '../../../src/crypto/sealing.ts';

const keyOf = (n: number) => String.fromCharCode(0x61 + (n % 26)).repeat(32);

/** SEALING_KEY_FILE: the first key seals, all open. */
export class SealingKeyFile {
  readonly #isUsed: boolean;
  /** By number, the one that seals first. */
  #keys = [0];

  constructor(isUsed: boolean) {
    this.#isUsed = isUsed;
  }

  get current(): SealingKeys | undefined {
    if (!this.#isUsed) return undefined;
    return parseSealingKeys(Buffer.from(this.#keys.map(keyOf).join('\n'))) ?? undefined;
  }

  /** A new key comes before the others. */
  add(): void {
    this.#keys = [Math.max(...this.#keys) + 1, ...this.#keys];
  }

  /** Only the key that seals stays: rows of the others cannot be read until {@link restore}. */
  dropOld(): void {
    this.#keys = this.#keys.slice(0, 1);
  }

  restore(): void {
    const [newest = 0] = this.#keys;
    this.#keys = Array.from({ length: newest + 1 }, (_, n) => newest - n);
  }
}
