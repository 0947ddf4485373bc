import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NO_PROXIES } from '../../src/config/proxy.ts';
import type { RenewalObserver } from '../../src/config/renewed-files.ts';
import { sha256Of } from '../../src/crypto/ids.ts';
import type { ListedObject, ObjectStore } from '../../src/object-store/object-store.ts';
import { openS3 } from '../../src/object-store/s3.ts';
import type { S3Options } from '../../src/object-store/s3-client.ts';
import type { RunningStore } from '../support/object-store/s3-bucket.ts';

export const within = () => AbortSignal.timeout(60_000);
const noFiles = { renewed() {}, unusable() {} };

export const objectOf = (text: string) => ({
  bytes: Buffer.from(text),
  sha256: sha256Of(Buffer.from(text)),
  contentType: 'application/json' as const,
});

/** A client of the store; the SDK reads credentials from the environment. */
export async function openClient(
  store: Pick<RunningStore, 'env' | 'endpoint' | 'bucket'>,
  options: Partial<S3Options> = {},
  files: RenewalObserver = noFiles,
): Promise<ObjectStore> {
  Object.assign(process.env, store.env);
  const { endpoint, bucket } = store;
  const address = { bucket, endpoint, region: undefined, caFile: undefined, sseKmsKeyId: undefined };
  const awsFiles = { awsCredentialsFile: undefined, awsConfigFile: undefined };
  return openS3(
    { ...address, ...awsFiles, ...NO_PROXIES, allowPlaintextCredentials: false, ...options },
    files,
  );
}

/** What Hookline needs of an S3-compatible store. */
export function describeStore(
  name: string,
  start: () => Promise<RunningStore>,
  { isAtomic }: { readonly isAtomic: boolean },
): void {
  let store: RunningStore;
  let client: ObjectStore;
  beforeAll(async () => {
    store = await start();
    client = await openClient(store);
  }, 300_000);
  afterAll(async () => {
    client?.close();
    await store?.[Symbol.asyncDispose]();
  });

  describe(name, () => {
    it('creates an object once: other bytes of the name change nothing', async () => {
      const object = objectOf('{"n":1}');
      expect(await client.create('hookline/a/1.json', object, within())).toBe('created');
      expect(await client.create('hookline/a/1.json', object, within())).toBe('exists');
      expect(await client.create('hookline/a/1.json', objectOf('{"n":2}'), within())).toBe('exists');
      expect(String(await client.read('hookline/a/1.json', 100, within()))).toBe('{"n":1}');
    });

    it('replaces an object where that is asked for', async () => {
      expect(await client.replace('hookline/check.json', objectOf('{"n":1}'), within())).toBe('created');
      expect(await client.replace('hookline/check.json', objectOf('{"n":2}'), within())).toBe('created');
      expect(String(await client.read('hookline/check.json', 100, within()))).toBe('{"n":2}');
    });

    it('tells length and hash of what it has, and that it has nothing', async () => {
      const { bytes, sha256 } = objectOf('{"n":1}');
      expect(await client.describe('hookline/a/1.json', within())).toEqual({ bytes: bytes.length, sha256 });
      expect(await client.describe('hookline/a/none.json', within())).toBeNull();
      expect(await client.read('hookline/a/none.json', 100, within())).toBeNull();
    });

    it.runIf(isAtomic)('stores only one of many that are written under a name at once', async () => {
      const texts = Array.from({ length: 8 }, (_, n) => `{"n":${n}}`);
      const outcomes = await Promise.allSettled(
        texts.map((text) => client.create('hookline/race.json', objectOf(text), within())),
      );
      const created = texts.filter((_, n) => {
        const { value } = outcomes[n] as PromiseFulfilledResult<string>;
        return value === 'created';
      });
      expect(created).toHaveLength(1);
      expect(String(await client.read('hookline/race.json', 100, within()))).toBe(created[0]);
      // One that lost may be told to try again: then it finds the other.
      for (const outcome of outcomes)
        if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ kind: 'unavailable' });
    });

    it('refuses bytes that are not those of their hash', async () => {
      const object = { ...objectOf('{"n":1}'), sha256: objectOf('{"n":2}').sha256 };
      await expect(client.create('hookline/a/2.json', object, within())).rejects.toMatchObject({
        kind: 'object_refused',
      });
      expect(await client.describe('hookline/a/2.json', within())).toBeNull();
    });

    it('keeps 50 MB to the byte, and reads no more than it is asked for', async () => {
      const bytes = Buffer.alloc(50_000_000, 'abcdefghijklmnopqrstuvwxyz-');
      const object = { ...objectOf(''), bytes, sha256: sha256Of(bytes) };
      expect(await client.create('hookline/large.bin', object, within())).toBe('created');
      const read = await client.read('hookline/large.bin', bytes.length, within());
      expect(read !== 'larger' && read?.equals(bytes)).toBe(true);
      expect(await client.hash('hookline/large.bin', bytes.length, within())).toBe(object.sha256);
      expect(await client.read('hookline/large.bin', 1_000, within())).toBe('larger');
    });

    it('lists what is below a prefix, in pages, and removes it', async () => {
      const keys = Array.from({ length: 1_050 }, (_, n) => `many/${String(n).padStart(4, '0')}`);
      for (let at = 0; at < keys.length; at += 50)
        await Promise.all(keys.slice(at, at + 50).map((key) => client.create(key, objectOf('{}'), within())));
      const listed: ListedObject[] = [];
      for await (const one of client.list('many/', within())) listed.push(one);
      expect(listed.map(({ key }) => key)).toEqual(keys);
      expect(listed[0]).toMatchObject({ bytes: 2, modifiedAt: expect.any(Date) });
      await client.remove('many/0000', within());
      expect(await client.describe('many/0000', within())).toBeNull();
    });

    it('says that the bucket is missing, and what to do about it', async () => {
      const other = await openClient(store, { bucket: 'none-of-that-name' });
      await expect(other.create('a', objectOf('{}'), within())).rejects.toMatchObject({
        kind: 'refused',
        message: expect.stringContaining('NoSuchBucket'),
        remedy: 'create the bucket, or correct BODY_STORE',
      });
      other.close();
    });

    it('is unavailable while it is stopped, and the same client goes on when it is back', async () => {
      await store.kill();
      await expect(client.create('hookline/b.json', objectOf('{}'), within())).rejects.toMatchObject({
        kind: 'unavailable',
        message: expect.stringContaining('nobody listens there'),
      });
      await store.start();
      expect(await client.create('hookline/b.json', objectOf('{}'), within())).toBe('created');
      expect(String(await client.read('hookline/a/1.json', 100, within()))).toBe('{"n":1}');
    });

    it('is given up at a signal while it does not answer', async () => {
      store.freeze();
      const signal = AbortSignal.timeout(500);
      await expect(client.create('hookline/c.json', objectOf('{}'), signal)).rejects.toThrow();
      store.resume();
      expect(['created', 'exists']).toContain(
        await client.create('hookline/c.json', objectOf('{}'), within()),
      );
    });
  });
}
