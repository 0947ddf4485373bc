import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ObjectStore } from '../../src/object-store/object-store.ts';
import { type ScriptedBucket, startScriptedBucket } from '../support/object-store/scripted-bucket.ts';
import { objectOf, openClient, within } from './s3-contract.ts';

let s3: ScriptedBucket;
let client: ObjectStore;

beforeAll(async () => {
  s3 = await startScriptedBucket();
  client = await openClient(s3);
});
afterAll(async () => {
  client.close();
  await s3[Symbol.asyncDispose]();
});
beforeEach(() => {
  s3.answer = () => undefined;
});

describe('a list', () => {
  const KEYS = ['many/0', 'many/1', 'many/2', 'many/3', 'many/4'];
  const listed = async () => {
    const keys: string[] = [];
    for await (const { key } of client.list('many/', within())) keys.push(key);
    return keys;
  };
  beforeAll(async () => {
    s3.pageSize = 2;
    for (const key of KEYS) await client.create(key, objectOf('{}'), within());
  });

  it('goes on after a page that is answered 503 SlowDown, and has each object once', async () => {
    const pages: (string | null)[] = [];
    s3.answer = ({ query }) => {
      pages.push(query.get('continuation-token'));
      return pages.length === 2 ? { status: 503, code: 'SlowDown' } : undefined;
    };
    expect(await listed()).toEqual(KEYS);
    expect(pages).toEqual([null, 'many/1', 'many/1', 'many/3']);
  });

  it('ends at once where it is denied', async () => {
    s3.answer = () => ({ status: 403, code: 'AccessDenied' });
    await expect(listed()).rejects.toMatchObject({ kind: 'refused' });
  });
});
