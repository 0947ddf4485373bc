import { describe, expect, it } from 'vitest';
import {
  checksumOf,
  isChecksum,
  openRow,
  parseSealingKeys,
  rowKeysOf,
  seal,
  sealRow,
  unseal,
} from '../../src/crypto/sealing.ts';

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

const formOf = (aad: string, format = 2) => ({ format, aad: Buffer.from(aad) });
const secret = Buffer.from('secret');

describe('a sealed value', () => {
  it('opens again, in its own format and with the data that were authenticated with it alone', () => {
    const keys = keysOf(hex);
    const sealed = seal(keys, formOf('ledger-eu'), secret);
    expect(unseal(keys, formOf('ledger-eu'), sealed)).toEqual(secret);
    expect(unseal(keys, formOf('ledger-us'), sealed)).toBeNull();
    expect(unseal(keys, formOf('ledger-eu', 1), sealed)).toBeNull();
  });

  it('never shows what is in it, and is never sealed twice alike', () => {
    const keys = keysOf(hex);
    expect(seal(keys, formOf('a'), secret).includes('secret')).toBe(false);
    expect(seal(keys, formOf('a'), secret)).not.toEqual(seal(keys, formOf('a'), secret));
  });

  it('opens with an older key after a rotation, and is sealed with the new one', () => {
    const old = keysOf(hex);
    const rotated = keysOf(`${'cd'.repeat(32)}\n${hex}`);
    expect(unseal(rotated, formOf('a'), seal(old, formOf('a'), secret))).toEqual(secret);
    expect(unseal(old, formOf('a'), seal(rotated, formOf('a'), secret))).toBeNull();
  });

  it('that was changed, cut or is none does not open', () => {
    const keys = keysOf(hex);
    const sealed = seal(keys, formOf('a'), secret);
    for (let at = 0; at < sealed.length; at++) {
      const changed = Buffer.from(sealed);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(unseal(keys, formOf('a'), changed), `byte ${at}`).toBeNull();
    }
    expect(unseal(keys, formOf('a'), sealed.subarray(0, 20))).toBeNull();
    expect(unseal(keys, formOf('a'), Buffer.alloc(0))).toBeNull();
  });
});

describe('a sealed row of the spool', () => {
  const [key = expect.fail()] = rowKeysOf(keysOf(hex));
  const columns = Buffer.from('columns');

  it('opens with its own key and columns alone, and where nothing of it was changed or cut', () => {
    const { proof, body } = sealRow(key, columns, secret);
    expect(body.includes('secret')).toBe(false);
    expect(openRow(key, columns, proof, body)).toEqual(secret);
    const [other = expect.fail()] = rowKeysOf(keysOf('cd'.repeat(32)));
    expect(openRow(other, columns, proof, body)).toBeNull();
    expect(openRow(key, Buffer.from('others'), proof, body)).toBeNull();
    expect(openRow(key, columns, proof, body.subarray(1))).toBeNull();
    for (const length of [0, 12, 16, 27])
      expect(openRow(key, columns, proof.subarray(0, length), body)).toBeNull();
    expect(openRow(key, columns, Buffer.concat([proof, proof]), body)).toBeNull();
    for (let at = 0; at < proof.length; at++) {
      const changed = Buffer.from(proof);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(openRow(key, columns, changed, body), `byte ${at}`).toBeNull();
    }
  });

  it('opens with an older key after a rotation, each key once and under its own id, the current one first', () => {
    const [current, older = expect.fail(), ...more] = rowKeysOf(keysOf(`${'cd'.repeat(32)}\n${hex}`));
    const { proof, body } = sealRow(key, columns, secret);
    expect(openRow(older, columns, proof, body)).toEqual(secret);
    expect(older.id).toBe(key.id);
    expect(current?.id).not.toBe(key.id);
    expect(more).toEqual([]);
  });

  it('is damaged, without a key, where its checksum is that of other bytes', () => {
    const sum = checksumOf(columns, secret);
    expect(isChecksum(sum, columns, secret)).toBe(true);
    expect(isChecksum(sum, columns, Buffer.from('secreT'))).toBe(false);
    expect(isChecksum(sum, Buffer.from('others!'), secret)).toBe(false);
    expect(isChecksum(sum.subarray(0, 31), columns, secret)).toBe(false);
  });
});
