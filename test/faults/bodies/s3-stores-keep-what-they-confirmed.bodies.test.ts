import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describeStore, objectOf, openClient, within } from '../../object-store/s3-contract.ts';
import {
  KMS_KEY,
  type RunningStore,
  startS3Mock,
  startVersityGateway,
} from '../../support/object-store/s3-bucket.ts';

/** It looks whether an object is there, and then writes it. */
const S3MOCK = { isAtomic: false };

describeStore('S3Mock', startS3Mock, S3MOCK);
// A second judge.
describeStore('the Versity gateway', startVersityGateway, { isAtomic: true });

describe('encryption with a key of its own', () => {
  let store: RunningStore;
  beforeAll(async () => {
    store = await startS3Mock();
  }, 120_000);
  afterAll(() => store?.[Symbol.asyncDispose]());

  it('is asked for with each object', async () => {
    const client = await openClient(store, { sseKmsKeyId: KMS_KEY });
    expect(await client.create('sealed.json', objectOf('{}'), within())).toBe('created');
    const answer = await fetch(`${store.endpoint}/${store.bucket}/sealed.json`, { method: 'HEAD' });
    expect(answer.headers.get('x-amz-server-side-encryption')).toBe('aws:kms');
    expect(answer.headers.get('x-amz-server-side-encryption-aws-kms-key-id')).toBe(KMS_KEY);
    client.close();
  });

  it('with a key that the store does not know is refused: nothing is stored unencrypted', async () => {
    const client = await openClient(store, { sseKmsKeyId: 'other' });
    await expect(client.create('other.json', objectOf('{}'), within())).rejects.toMatchObject({
      kind: 'refused',
    });
    expect(await client.describe('other.json', within())).toBeNull();
    client.close();
  });
});

describe('credentials', () => {
  let store: RunningStore;
  beforeAll(async () => {
    store = await startVersityGateway();
  }, 120_000);
  afterAll(() => store?.[Symbol.asyncDispose]());

  it.each([
    ['an unknown key', { AWS_ACCESS_KEY_ID: 'nobody' }, 'XAdminUserNotFound'],
    ['a wrong secret', { AWS_SECRET_ACCESS_KEY: 'wrong' }, 'SignatureDoesNotMatch'],
  ])('with %s are refused, and the remedy is told', async (_, wrong, code) => {
    const client = await openClient({ ...store, env: { ...store.env, ...wrong } });
    await expect(client.create('a', objectOf('{}'), within())).rejects.toMatchObject({
      kind: 'refused',
      message: expect.stringContaining(code),
      remedy: expect.stringContaining('correct the credentials'),
    });
    client.close();
  });
});
