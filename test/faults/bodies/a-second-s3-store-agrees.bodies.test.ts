import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describeStore, objectOf, openClient, within } from '../../object-store/s3-contract.ts';
import { type RunningStore, startVersityGateway } from '../../support/object-store/s3-bucket.ts';

describeStore('the Versity gateway', startVersityGateway);

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
