import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { encryptionKeyFault, HmacKey, newEncryptionKey, signingPartFault } from '../../src/crypto/keys.ts';

it('an HMAC is that of Node’s own, whatever the lengths of the key and the body are', () => {
  for (const length of [1, 63, 64, 65, 72, 200]) {
    const bytes = Buffer.alloc(length, 'k');
    for (const size of [0, 1, 64, 16 * 1024, 16 * 1024 + 1]) {
      const body = Buffer.alloc(size, 'b');
      const expected = createHmac('sha256', bytes).update(body).digest('hex');
      expect(new HmacKey(bytes).digest(body), `key ${length}, body ${size}`).toBe(expected);
    }
  }
});

describe('the parts of keys', () => {
  it('of 36 printable characters can sign, of 32 can encrypt', () => {
    expect(signingPartFault('7f3c1c1e-52b1-4a54-9c3a-0d6b1f0c9e11')).toBeNull();
    expect(encryptionKeyFault('0123456789abcdef0123456789ABCDEF')).toBeNull();
  });

  it('of another length are refused by their length, never by their text', () => {
    expect(signingPartFault('secret')).toBe('has 6 characters, must have 36');
    expect(encryptionKeyFault('secret')).toBe('has 6 characters, must have 32');
  });

  it('with characters that are more than a byte are refused', () => {
    expect(encryptionKeyFault('ü'.repeat(32))).toBe('has characters other than printable ASCII');
    expect(encryptionKeyFault(' '.repeat(32))).toBe('has characters other than printable ASCII');
  });

  it('are made new each time, 32 characters long', () => {
    const keys = new Set(Array.from({ length: 100 }, newEncryptionKey));
    expect(keys.size).toBe(100);
    for (const key of keys) expect(encryptionKeyFault(key)).toBeNull();
  });
});
