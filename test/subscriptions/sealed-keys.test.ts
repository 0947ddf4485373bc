import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { parseSealingKeys } from '../../src/crypto/sealing.ts';
import { openSecrets, sealSecrets } from '../../src/subscriptions/sealed-keys.ts';

const keysOf = (...keys: Buffer[]) =>
  parseSealingKeys(Buffer.from(keys.map((key) => key.toString('hex')).join('\n'))) ?? expect.fail('no key');
const secrets = { encryptionKey: 'e'.repeat(32), signingSecret: 's'.repeat(36) };

describe('the secrets of a subscription', () => {
  it('are opened by the key that sealed them, also when another one seals by now', () => {
    const [old, next] = [randomBytes(32), randomBytes(32)];
    const sealed = sealSecrets(keysOf(old), 'a', secrets);
    expect(openSecrets(keysOf(next, old), 'a', sealed)).toEqual(secrets);
    expect(openSecrets(keysOf(next), 'a', sealed)).toBeNull();
  });

  it('open for their own ref alone, and not once they were changed', () => {
    const keys = keysOf(randomBytes(32));
    const sealed = sealSecrets(keys, 'a', secrets);
    expect(openSecrets(keys, 'b', sealed)).toBeNull();
    for (const place of [0, 1, 13, 29, sealed.length - 1]) {
      const changed = Buffer.from(sealed);
      changed.writeUInt8(changed.readUInt8(place) ^ 1, place);
      expect(openSecrets(keys, 'a', changed)).toBeNull();
    }
    expect(openSecrets(keys, 'a', Buffer.alloc(0))).toBeNull();
  });

  it('do not show in what is stored', () => {
    const sealed = sealSecrets(keysOf(randomBytes(32)), 'a', secrets).toString('latin1');
    expect(sealed).not.toMatch(/eeee|ssss|encryptionKey/);
  });
});
