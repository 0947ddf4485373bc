import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fingerprint, listRefs, readDirSecrets } from '../../src/subscriptions/secrets-dir.ts';
import { Fixture } from '../support/topics-fixture.ts';

const ID = '7f3c1c1e-52b1-4a54-9c3a-0d6b1f0c9e11';
const SECRET = 's3cr3t-s3cr3t-s3cr3t-s3cr3t-s3cr3t-3';
const KEY = '0123456789abcdef0123456789ABCDEF';

const newFixture = () => new Fixture({ brokers: [], registryUrl: '' });
const dirOf = (fixture: Fixture) => join(fixture.dir, 'secrets');

describe('SECRETS_DIR', () => {
  it('has a folder for each ref; what is named otherwise is passed over', async () => {
    await using fixture = newFixture();
    for (const name of ['b', 'a', '..data', 'UPPER', '-x']) mkdirSync(join(dirOf(fixture), name));
    expect(await listRefs(dirOf(fixture))).toEqual(['a', 'b']);
  });

  it('has one value per line, the current first; space and line ends of any system are no part of it', async () => {
    await using fixture = newFixture();
    fixture.secrets('a', {
      'subscription-id': `\ufeff${ID}\r\n\r\n ${SECRET}\t`,
      'signing-secret': SECRET,
      'encryption-key': KEY,
    });
    expect(await readDirSecrets(dirOf(fixture), 'a')).toEqual({
      subscriptionIds: [ID, SECRET],
      signingSecrets: [SECRET],
      encryptionKeys: [KEY],
    });
  });

  it('holds nothing where a file, or the folder, is missing or empty', async () => {
    await using fixture = newFixture();
    fixture.secrets('a', { 'signing-secret': '' });
    const none = { subscriptionIds: [], signingSecrets: [], encryptionKeys: [] };
    expect(await readDirSecrets(dirOf(fixture), 'a')).toEqual(none);
    expect(await readDirSecrets(dirOf(fixture), 'b')).toEqual(none);
  });

  it.each([
    ['signing-secret', 'too-short-a-secret', 'has 18 characters, must have 36'],
    ['signing-secret', `${SECRET}\nhalf-writ`, 'has 9 characters, must have 36'],
    ['subscription-id', `${ID}0`, 'has 37 characters, must have 36'],
    ['signing-secret', `s p a c e-${SECRET.slice(10)}`, 'has characters other than printable ASCII'],
    ['encryption-key', KEY.slice(1), 'has 31 characters, must have 32'],
    ['encryption-key', `${KEY.slice(1)}ß`, 'has characters other than printable ASCII'],
  ] as const)(
    'names the file %s with a value that can be no key, and quotes nothing',
    async (name, text, why) => {
      await using fixture = newFixture();
      fixture.secrets('a', { [name]: text });
      const path = join(dirOf(fixture), 'a', name);
      await expect(readDirSecrets(dirOf(fixture), 'a')).rejects.toMatchObject({
        code: 'KEYS_INVALID',
        result: 'REJECTED',
        message: `a file of SECRETS_DIR/{ref} cannot be used (${path}: a line ${why})`,
      });
    },
  );

  it('names a file that can not be read', async () => {
    await using fixture = newFixture();
    mkdirSync(join(dirOf(fixture), 'a', 'signing-secret'), { recursive: true });
    await expect(readDirSecrets(dirOf(fixture), 'a')).rejects.toMatchObject({
      code: 'KEYS_INVALID',
      message: expect.stringContaining('signing-secret: EISDIR'),
    });
  });

  it('has a fingerprint that changes with a file, and when a link of the folder is swapped', async () => {
    await using fixture = newFixture();
    const dir = dirOf(fixture);
    const seen = [await fingerprint(dir, 'a')];
    fixture.secrets('real-1', { 'signing-secret': SECRET });
    symlinkSync('real-1', join(dir, 'a'));
    seen.push(await fingerprint(dir, 'a'));
    fixture.secrets('real-1', { 'encryption-key': KEY });
    seen.push(await fingerprint(dir, 'a'));
    writeFileSync(join(dir, 'real-1', 'signing-secret'), `${SECRET}\n${SECRET}\n`);
    seen.push(await fingerprint(dir, 'a'));
    fixture.secrets('real-2', { 'signing-secret': SECRET });
    symlinkSync('real-2', join(dir, 'b'));
    seen.push(await fingerprint(dir, 'b'));
    expect(new Set(seen).size).toBe(seen.length);
    expect(await fingerprint(dir, 'b')).toBe(seen.at(-1));
  });
});
