import { describe, expect, it } from 'vitest';
import { parseSealingKeys, seal, unseal } from '../../src/crypto/sealing.ts';

const keysOf = (text: string) => parseSealingKeys(Buffer.from(text)) ?? expect.fail('no keys');
const hex = 'ab'.repeat(32);

describe('SEALING_KEY_FILE', () => {
  it.each([
    ['64 hexadecimal digits', `${hex}\n`],
    ['32 bytes in base64', Buffer.alloc(32, 7).toString('base64')],
    ['32 characters in a line', `${'k'.repeat(32)}\n`],
    ['several keys', `${hex}\n\n${'k'.repeat(32)}\n`],
  ])('may hold %s', (_, text) => {
    expect(parseSealingKeys(Buffer.from(text))).not.toBeNull();
  });

  it('may hold 32 raw bytes, of whatever value', () => {
    expect(parseSealingKeys(Buffer.alloc(32, 10))?.all).toHaveLength(1);
  });

  it.each(['', '\n', 'short', `${hex}\nshort`])('is no key file when it holds %j', (text) => {
    expect(parseSealingKeys(Buffer.from(text))).toBeNull();
  });
});

describe('sealed secrets', () => {
  it('open again, for the same ref alone', () => {
    const keys = keysOf(hex);
    const sealed = seal(keys, 'ledger-eu', 'secret');
    expect(unseal(keys, 'ledger-eu', sealed)).toBe('secret');
    expect(unseal(keys, 'ledger-us', sealed)).toBeNull();
  });

  it('never show what is in them, and are never sealed twice alike', () => {
    const keys = keysOf(hex);
    expect(seal(keys, 'a', 'secret').includes('secret')).toBe(false);
    expect(seal(keys, 'a', 'secret')).not.toEqual(seal(keys, 'a', 'secret'));
  });

  it('open with an older key after a rotation, and are sealed with the new one', () => {
    const old = keysOf(hex);
    const rotated = keysOf(`${'cd'.repeat(32)}\n${hex}`);
    expect(unseal(rotated, 'a', seal(old, 'a', 'secret'))).toBe('secret');
    expect(unseal(old, 'a', seal(rotated, 'a', 'secret'))).toBeNull();
  });

  it('that were changed, cut or are none do not open', () => {
    const keys = keysOf(hex);
    const sealed = seal(keys, 'a', 'secret');
    for (let at = 0; at < sealed.length; at++) {
      const changed = Buffer.from(sealed);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(unseal(keys, 'a', changed), `byte ${at}`).toBeNull();
    }
    expect(unseal(keys, 'a', sealed.subarray(0, 20))).toBeNull();
    expect(unseal(keys, 'a', Buffer.alloc(0))).toBeNull();
  });
});
