import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { sha256Of } from '../../src/crypto/ids.ts';
import type { ObjectStore } from '../../src/object-store/object-store.ts';
import { isArchived } from '../../src/object-store/s3-faults.ts';
import { type ScriptedS3, startScriptedS3 } from '../support/object-store/scripted-s3.ts';
import { objectOf, openClient, within } from './s3-contract.ts';

let s3: ScriptedS3;
let client: ObjectStore;
beforeEach(async () => {
  s3 = await startScriptedS3();
  client = await openClient(s3);
});
afterEach(async () => {
  client.close();
  await s3[Symbol.asyncDispose]();
});

const create = () => client.create('a.json', objectOf('{}'), within());

describe('an answer to a write', () => {
  it.each([200, 500])('%i that has no end is not read to it', async (status) => {
    s3.answer = () => ({ status, headers: {}, body: 'x'.repeat(20 * 1024 * 1024) });
    // A list would be asked for again until its time is up.
    const rules = client.expiryRules(within());
    await expect(rules).rejects.toThrow('has more than 8388608 bytes');
  });

  it('is read up to 256 KiB, as parsing megabytes takes the time of webhooks', async () => {
    const xml = `<Error><Message>${'&amp;'.repeat(60 * 1024)}</Message></Error>`;
    s3.answer = () => ({ status: 403, headers: {}, body: xml });
    await expect(create()).rejects.toThrow('the answer has more than 262144 bytes');
    await expect(client.describe('a.json', within())).rejects.toThrow('answered 403');
  });

  it('confirms it with the checksum', async () => {
    expect(await create()).toBe('created');
    expect(await create()).toBe('exists');
  });

  it.each([
    ['without an ETag, as a captive portal answers', { 'content-type': 'text/html' }],
    ['with an ETag alone, as web frameworks answer', { etag: 'W/"x"', 'content-type': 'text/html' }],
    ['with another checksum', { etag: '"x"', 'x-amz-checksum-sha256': `${'A'.repeat(43)}=` }],
  ])('%s does not confirm it', async (_, headers) => {
    s3.answer = () => ({ status: 200, headers, body: '<html>log in</html>' });
    expect(await create()).toBe('unconfirmed');
    expect(await client.replace('a.json', objectOf('{}'), within())).toBe('unconfirmed');
  });

  it.each([
    [400, 'RequestTimeout', 'unavailable'],
    [408, 'RequestTimeout', 'unavailable'],
    [409, 'ConditionalRequestConflict', 'unavailable'],
    [429, 'TooManyRequests', 'unavailable'],
    [500, 'InternalError', 'unavailable'],
    [503, 'SlowDown', 'unavailable'],
    [507, 'InsufficientStorage', 'unavailable'],
    [400, 'EntityTooLarge', 'object_refused'],
    [400, 'InvalidArgument', 'object_refused'],
    [400, 'BadDigest', 'object_refused'],
    [413, 'RequestEntityTooLarge', 'object_refused'],
    [400, 'ExpiredToken', 'refused'],
    [400, 'InvalidBucketName', 'refused'],
    [400, 'KMS.NotFoundException', 'refused'],
    [400, 'XMinioAdminBucketQuotaExceeded', 'refused'],
    [401, 'Unauthorized', 'refused'],
    [403, 'AccessDenied', 'refused'],
    [403, 'QuotaExceeded', 'refused'],
    [404, 'NoSuchBucket', 'refused'],
    [501, 'NotImplemented', 'refused'],
  ])('%i %s: %s', async (status, code, kind) => {
    s3.answer = () => ({ status, code });
    await expect(create()).rejects.toMatchObject({ kind, message: expect.stringContaining(code) });
  });

  it('that says what is wrong with the object says what to do', async () => {
    s3.answer = () => ({ status: 400, code: 'EntityTooLarge' });
    await expect(create()).rejects.toMatchObject({
      remedy: "raise the store's limit for one object, or lower MAX_BODY_BYTES to what the store takes",
    });
  });
});

it("nothing is sent without TLS to an address of AWS's own files, unless that is allowed", async () => {
  const dir = mkdtempSync(join(tmpdir(), 'hookline-s3-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const file = join(dir, 'config');
  writeFileSync(file, '[default]\nendpoint_url = http://store.invalid:9000\n');
  process.env.AWS_CONFIG_FILE = file;
  onTestFinished(() => void delete process.env.AWS_CONFIG_FILE);
  const byFile = (allowPlaintextCredentials: boolean) =>
    openClient(s3, { endpoint: undefined, region: 'eu-central-1', allowPlaintextCredentials });
  const write = (by: ObjectStore) => by.create('a.json', objectOf('{}'), within());
  await expect(write(await byFile(false))).rejects.toMatchObject({
    kind: 'refused',
    message: 'signed requests and messages would be sent to events.store.invalid without TLS',
  });
  await expect(write(await byFile(true))).rejects.toMatchObject({ kind: 'unavailable' });
});

describe('an answer without a body', () => {
  it.each([
    [403, 'allow s3:PutObject and s3:GetObject on the prefix of BODY_STORE, and the use of its KMS key'],
    [301, 'set BODY_STORE_REGION to the region of the bucket'],
    [
      307,
      'set BODY_STORE_ENDPOINT to the address that answers by itself, or BODY_STORE_REGION to the region of the bucket',
    ],
  ])('of status %i is explained by it', async (status, remedy) => {
    s3.answer = () => ({ status, headers: { location: 'http://127.0.0.1:9/x' } });
    const message = expect.stringMatching(new RegExp(`answered ${status} without a reason$`));
    await expect(client.describe('a.json', within())).rejects.toMatchObject({
      kind: 'refused',
      message,
      remedy,
    });
    await expect(create()).rejects.toMatchObject({ kind: 'refused', message, remedy });
  });
});

describe('an object', () => {
  it('that is archived cannot be read, which says nothing of others, and what to do is said', async () => {
    s3.answer = () => ({ status: 403, code: 'InvalidObjectState' });
    const error = await client.read('a.json', 2, within()).catch((one) => one);
    expect(error).toMatchObject({
      kind: 'object_refused',
      remedy: expect.stringContaining('restore the object, and let no lifecycle rule move objects'),
    });
    expect(isArchived(new Error('wrapped', { cause: error }))).toBe(true);
    expect(isArchived(new Error('InvalidObjectState'))).toBe(false);
  });

  it('that the store has computed no checksum of has an unknown one, whatever its metadata say', async () => {
    const { sha256 } = objectOf('{}');
    const headers = { 'content-length': 2, 'x-amz-meta-sha256': sha256 };
    s3.answer = ({ method }) => (method === 'HEAD' ? { status: 200, headers } : undefined);
    expect(await client.describe('a.json', within())).toEqual({ bytes: 2, sha256: undefined });
  });

  it('that was put together from parts has an unknown one, too', async () => {
    const headers = { 'content-length': 2, 'x-amz-checksum-sha256': `${'A'.repeat(43)}=-3` };
    s3.answer = ({ method }) => (method === 'HEAD' ? { status: 200, headers } : undefined);
    expect(await client.describe('a.json', within())).toEqual({ bytes: 2, sha256: undefined });
  });

  it('is read and hashed up to the length that is asked for', async () => {
    await create();
    expect(String(await client.read('a.json', 2, within()))).toBe('{}');
    expect(await client.read('a.json', 1, within())).toBe('larger');
    expect(await client.read('b.json', 1, within())).toBeNull();
    expect(await client.hash('a.json', 2, within())).toBe(sha256Of(Buffer.from('{}')));
    expect(await client.hash('a.json', 1, within())).toBeNull();
    expect(await client.hash('b.json', 1, within())).toBeNull();
  });

  it.each([
    ['of a proxy', { status: 404, headers: { 'content-type': 'text/html' }, body: '<html>not found</html>' }],
    ['without a body', { status: 404, headers: {} }],
    ['of another bucket', { status: 404, code: 'NoSuchBucket' }],
  ])('is not missing by a 404 %s: only the store says so', async (_, answer) => {
    s3.answer = () => answer;
    const kind = 'refused';
    await expect(client.describe('a.json', within())).rejects.toMatchObject({ kind });
    await expect(client.read('a.json', 1, within())).rejects.toMatchObject({ kind });
    await expect(client.hash('a.json', 1, within())).rejects.toMatchObject({ kind });
    await expect(client.expiryRules(within())).rejects.toMatchObject({ kind });
  });

  it('that is there a moment later is not missing', async () => {
    await create();
    s3.answer = ({ method }) => (method === 'HEAD' ? { status: 404, headers: {} } : undefined);
    await expect(client.describe('a.json', within())).rejects.toMatchObject({ kind: 'unavailable' });
  });

  it('is replaced; where the bucket denies that, it is created, or is there', async () => {
    const replace = () => client.replace('check.json', objectOf('{}'), within());
    expect([await replace(), await replace()]).toEqual(['created', 'created']);
    s3.answer = ({ headers }) =>
      headers['if-none-match'] === undefined ? { status: 403, code: 'AccessDenied' } : undefined;
    expect(await replace()).toBe('created');
    s3.answer = () => ({ status: 403, code: 'AccessDenied' });
    await expect(replace()).rejects.toMatchObject({ kind: 'refused' });
  });
});
