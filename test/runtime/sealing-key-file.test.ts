import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { seal, unseal } from '../../src/crypto/sealing.ts';
import { openSealingKeys, sealingKeysNow } from '../../src/runtime/sealing-key-file.ts';
import { manualClock } from '../support/manual-clock.ts';

const dir = mkdtempSync(join(tmpdir(), 'hookline-sealing-keys-'));
const path = join(dir, 'keys');
afterAll(() => rmSync(dir, { recursive: true }));

const A = 'a'.repeat(32);
const B = 'b'.repeat(32);
const FORMAT = { format: 1, aad: Buffer.from('owner') };

function open() {
  const clock = manualClock();
  const told: string[] = [];
  const files = {
    renewed: () => void told.push('renewed'),
    unusable: (error: Error) => void told.push(error.message),
  };
  return { clock, told, keys: openSealingKeys(path, { files, clock }) };
}

describe('the sealing key file', () => {
  it('is read again: the first line seals, all open, and whoever asked is told', async () => {
    writeFileSync(path, A);
    const { clock, told, keys } = open();
    const heard: number[] = [];
    keys.onRenewed(({ all }) => heard.push(all.length));
    const sealed = seal(keys, FORMAT, Buffer.from('secret'));
    writeFileSync(path, `${B}\n${A}\n`);
    await clock.advance(10_000);
    expect([heard, told, keys.all.length]).toEqual([[2], ['renewed'], 2]);
    expect(unseal(keys, FORMAT, sealed)?.toString()).toBe('secret');
    expect(sealingKeysNow(keys)).toEqual({ current: keys.current, all: keys.all });
    writeFileSync(path, `${B}\n`);
    await clock.advance(10_000);
    expect(unseal(keys, FORMAT, sealed)).toBeNull();
  });

  it('that is being written is not taken for whole: 43 characters of a key in hex are a key in base64', async () => {
    writeFileSync(path, A);
    const { clock, told, keys } = open();
    const hex = 'ab'.repeat(32);
    writeFileSync(path, hex.slice(0, 43));
    await clock.advance(5_000);
    writeFileSync(path, hex);
    await clock.advance(5_000);
    expect(told).toEqual([]);
    await clock.advance(5_000);
    expect(told).toEqual(['renewed']);
    expect(keys.current.export().toString('hex')).toBe(hex);
  });

  it('that holds no keys any more changes nothing, and is told once, without its content', async () => {
    writeFileSync(path, A);
    const { clock, told, keys } = open();
    const sealed = seal(keys, FORMAT, Buffer.from('secret'));
    writeFileSync(path, 'half-writ');
    await clock.advance(30_000);
    rmSync(path);
    await clock.advance(30_000);
    expect(told).toEqual([expect.stringContaining('SEALING_KEY_FILE'), expect.stringContaining('ENOENT')]);
    expect(told.join()).not.toContain('half-writ');
    expect(unseal(keys, FORMAT, sealed)?.toString()).toBe('secret');
  });

  it('is demanded at the start', () => {
    writeFileSync(path, 'no key');
    expect(open).toThrow(expect.objectContaining({ code: 'SEALING_KEY_INVALID' }));
  });
});
