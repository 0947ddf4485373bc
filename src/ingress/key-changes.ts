import type { EncryptionKey } from '../crypto/keys.ts';
import type { LiveKeyring } from '../subscriptions/keyring.ts';

type Keys = Pick<LiveKeyring, 'version' | 'refs' | 'signingKeysOf' | 'encryptionKeysOf'>;
type KeyObject = EncryptionKey['key'];
type KeyUse = 'signing' | 'encryption';

/** Finds the refs whose live keys are others than before: metrics name a key by its position, which may be another key's by now. */
export class KeyChanges {
  readonly #keyring: Keys;
  #known = new Map<string, readonly KeyObject[]>();
  #version = -1;

  constructor(keyring: Keys) {
    this.#keyring = keyring;
  }

  /** Whether there may be any since the last call. */
  get isDue(): boolean {
    return this.#keyring.version !== this.#version;
  }

  /** Those since the last call. A key that is added behind the others changes the position of none. */
  take(): { readonly ref: string; readonly use: KeyUse }[] {
    this.#version = this.#keyring.version;
    const changed: { ref: string; use: KeyUse }[] = [];
    const now = new Map<string, readonly KeyObject[]>();
    const look = (ref: string, use: KeyUse, keys: readonly KeyObject[]) => {
      const before = this.#known.get(`${use} ${ref}`) ?? [];
      now.set(`${use} ${ref}`, keys);
      if (!before.every((key, n) => keys[n]?.equals(key))) changed.push({ ref, use });
    };
    for (const ref of this.#keyring.refs()) {
      // Not the decoys.
      const signing = this.#keyring.signingKeysOf(ref).filter(({ index }) => index >= 0);
      look(
        ref,
        'signing',
        signing.map(({ key }) => key.object),
      );
      look(
        ref,
        'encryption',
        this.#keyring.encryptionKeysOf(ref).map(({ key }) => key),
      );
    }
    for (const [name, keys] of this.#known) {
      const [use, ref] = name.split(' ') as [KeyUse, string];
      if (keys.length > 0 && !now.has(name)) changed.push({ ref, use });
    }
    this.#known = now;
    return changed;
  }
}
