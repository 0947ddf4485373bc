import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { awsFilesOf } from '../../src/object-store/aws-files.ts';
import type { ObjectStore } from '../../src/object-store/object-store.ts';
import { type ScriptedS3, startScriptedS3 } from '../support/object-store/scripted-s3.ts';
import { objectOf, openClient, within } from './s3-contract.ts';

let s3: ScriptedS3;
let dir: string;
/** Key ids that the store does not know any more. */
let revoked: string[];
let used: string[];
const renewed = vi.fn();
const unusable = vi.fn();
beforeEach(async () => {
  s3 = await startScriptedS3();
  dir = mkdtempSync(join(tmpdir(), 'hookline-s3-'));
  [revoked, used] = [[], []];
  s3.answer = ({ headers }) => {
    const [, id = ''] = /Credential=([^/]+)\//.exec(String(headers.authorization)) ?? [];
    used.push(id);
    return revoked.includes(id) ? { status: 403, code: 'InvalidAccessKeyId' } : undefined;
  };
});
afterEach(async () => {
  vi.unstubAllEnvs();
  vi.clearAllMocks();
  rmSync(dir, { recursive: true });
  await s3[Symbol.asyncDispose]();
});

const credentials = (id: string) =>
  `[default]\naws_access_key_id = ${id}\naws_secret_access_key = secret-of-${id}\n`;
const pathOf = (name: string) => join(dir, name);
const write = (id: string, name = 'credentials') => writeFileSync(pathOf(name), credentials(id));

/** A client whose credentials are in AWS's files alone. */
async function openWithFiles(names: { credentials: string; config: string }): Promise<ObjectStore> {
  const paths = {
    awsCredentialsFile: pathOf(names.credentials),
    awsConfigFile: pathOf(names.config),
  };
  // The SDK reads the process's own variables.
  vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', paths.awsCredentialsFile);
  vi.stubEnv('AWS_CONFIG_FILE', paths.awsConfigFile);
  const client = await openClient(s3, paths, { renewed, unusable });
  for (const name of ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY']) vi.stubEnv(name, undefined);
  return client;
}
const OWN = { credentials: 'credentials', config: 'none' };
const replaceOn = (client: ObjectStore) => client.replace('a.json', objectOf('{}'), within());

it.each([
  ['AWS_SHARED_CREDENTIALS_FILE', OWN],
  ['AWS_CONFIG_FILE', { credentials: 'none', config: 'credentials' }],
])('credentials of %s that were rotated are used by the next request', async (variable, names) => {
  write('OLD');
  const client = await openWithFiles(names);
  expect(await replaceOn(client)).toBe('created');
  write('NEW');
  revoked = ['OLD'];
  expect(await replaceOn(client)).toBe('created');
  expect(used).toEqual(['OLD', 'NEW']);
  expect(renewed).toHaveBeenCalledOnce();
  expect(renewed.mock.calls[0]?.[0]).toContainEqual({ variable, path: pathOf('credentials') });
});

it('two clients of a process both use rotated credentials', async () => {
  write('OLD');
  const clients = [await openWithFiles(OWN), await openWithFiles(OWN)];
  for (const client of clients) await replaceOn(client);
  write('NEW');
  revoked = ['OLD'];
  for (const client of clients) expect(await replaceOn(client)).toBe('created');
});

it('credentials that were not there when the client was opened are found, and rotated', async () => {
  const client = await openWithFiles(OWN);
  vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true');
  await expect(replaceOn(client)).rejects.toMatchObject({ kind: 'refused' });
  write('OLD');
  await replaceOn(client);
  write('NEW');
  await replaceOn(client);
  expect(used).toEqual(['OLD', 'NEW']);
});

it('while a credentials file is gone, what was read of it stays in use, and that is said once', async () => {
  write('OLD');
  const client = await openWithFiles(OWN);
  await replaceOn(client);
  rmSync(pathOf('credentials'));
  for (const _ of 'ab') expect(await replaceOn(client)).toBe('created');
  expect(unusable.mock.calls.map(([{ message }]) => message)).toEqual([
    expect.stringContaining('AWS_SHARED_CREDENTIALS_FILE, '),
  ]);
  write('NEW');
  await replaceOn(client);
  expect(used).toEqual(['OLD', 'OLD', 'OLD', 'NEW']);
});

it('a credentials file that is empty while it is written keeps the credentials before', async () => {
  write('OLD');
  const client = await openWithFiles(OWN);
  await replaceOn(client);
  writeFileSync(pathOf('credentials'), '');
  expect(await replaceOn(client)).toBe('created');
  expect(unusable).toHaveBeenCalledOnce();
  write('NEW');
  expect(await replaceOn(client)).toBe('created');
  expect(used).toEqual(['OLD', 'OLD', 'NEW']);
});

it('the store opens for a user without a home directory', () => {
  const noHome = () => {
    throw new Error('uv_os_homedir returned ENOENT');
  };
  const named = { awsCredentialsFile: undefined, awsConfigFile: '/etc/aws/config' };
  expect(awsFilesOf(named, noHome)).toEqual([{ variable: 'AWS_CONFIG_FILE', path: '/etc/aws/config' }]);
});

it('clients that were replaced keep no connection when the store is closed', async () => {
  write('A');
  const client = await openWithFiles(OWN);
  await replaceOn(client);
  for (const id of ['B', 'C', 'D']) {
    write(id);
    await replaceOn(client);
  }
  expect(await s3.connections()).toBe(4);
  client.close();
  await vi.waitFor(async () => expect(await s3.connections()).toBe(0));
});
