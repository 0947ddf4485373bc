import { describe, expect, it } from 'vitest';
import { encryptionKeyFault, newEncryptionKey, signingPartFault } from '../../src/crypto/keys.ts';

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
