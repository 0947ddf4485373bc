import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { parseSealingKeys, seal } from '../../src/crypto/sealing.ts';
import { openSecrets, sealSecrets } from '../../src/subscriptions/subscription-record.ts';

const keysOf = (...keys: Buffer[]) =>
  parseSealingKeys(Buffer.from(keys.map((key) => key.toString('hex')).join('\n'))) ?? expect.fail('no key');
const secrets = { encryptionKey: 'e'.repeat(32), signingSecret: 's'.repeat(36) };
const owner = { ref: 'a', subscriptionId: 'id-1', state: 'ACTIVE' } as const;

describe('the secrets of a subscription', () => {
  it('are opened by the key that sealed them, also when another one seals by now', () => {
    const old = randomBytes(32);
    const next = randomBytes(32);
    const sealed = sealSecrets(keysOf(old), owner, secrets);
    expect(openSecrets(keysOf(next, old), owner, sealed)).toEqual(secrets);
    expect(openSecrets(keysOf(next), owner, sealed)).toBeNull();
  });

  it.each([
    ['ref', { ...owner, ref: 'b' }],
    ['subscription', { ...owner, subscriptionId: 'id-2' }],
    ['subscription that has no id', { ...owner, subscriptionId: null }],
    ['state', { ...owner, state: 'RETIRED' } as const],
    ['split of the same characters', { ...owner, ref: 'a","id-1', subscriptionId: '' }],
  ])('do not open when they are moved to another %s', (_, other) => {
    const keys = keysOf(randomBytes(32));
    expect(openSecrets(keys, other, sealSecrets(keys, owner, secrets))).toBeNull();
  });

  it('that 0.1.0 sealed open under their ref, whatever the state, and are never taken for format 2', () => {
    const keys = keysOf(randomBytes(32));
    const sealed = seal(keys, { format: 1, aad: Buffer.from('a') }, Buffer.from(JSON.stringify(secrets)));
    expect(openSecrets(keys, { ...owner, state: 'RETIRED' }, sealed)).toEqual(secrets);
    expect(openSecrets(keys, { ...owner, ref: 'b' }, sealed)).toBeNull();
    sealed[0] = 2;
    expect(openSecrets(keys, owner, sealed)).toBeNull();
    const two = sealSecrets(keys, owner, secrets);
    two[0] = 1;
    expect(openSecrets(keys, owner, two)).toBeNull();
  });

  it('do not open once they were changed', () => {
    const keys = keysOf(randomBytes(32));
    const sealed = sealSecrets(keys, owner, secrets);
    for (const place of [0, 1, 13, 29, sealed.length - 1]) {
      const changed = Buffer.from(sealed);
      changed.writeUInt8(changed.readUInt8(place) ^ 1, place);
      expect(openSecrets(keys, owner, changed)).toBeNull();
    }
    expect(openSecrets(keys, owner, Buffer.alloc(0))).toBeNull();
  });

  it('do not show in what is stored', () => {
    const sealed = sealSecrets(keysOf(randomBytes(32)), owner, secrets).toString('latin1');
    expect(sealed).not.toMatch(/eeee|ssss|encryptionKey/);
  });
});
