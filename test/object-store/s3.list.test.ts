import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ObjectStore } from '../../src/object-store/object-store.ts';
import { type ScriptedS3, startScriptedS3 } from '../support/object-store/scripted-s3.ts';
import { objectOf, openClient, within } from './s3-contract.ts';

let s3: ScriptedS3;
let client: ObjectStore;

beforeAll(async () => {
  s3 = await startScriptedS3();
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

it('a list tells which objects are in an archive class', async () => {
  const classes = ['STANDARD', 'GLACIER', 'DEEP_ARCHIVE', 'GLACIER_IR'];
  const contents = classes.map(
    (one) => `<Contents><Key>${one}</Key><StorageClass>${one}</StorageClass></Contents>`,
  );
  s3.answer = () => ({ status: 200, xml: `<ListBucketResult>${contents.join('')}</ListBucketResult>` });
  const archives: (string | undefined)[] = [];
  for await (const { archive } of client.list('', within())) archives.push(archive);
  expect(archives).toEqual([undefined, 'GLACIER', 'DEEP_ARCHIVE', undefined]);
});

describe('the rules that delete or archive objects', () => {
  const rulesOf = async (...rules: string[]) => {
    const xml = rules.map((rule) => `<Rule><ID>r</ID>${rule}</Rule>`).join('');
    s3.lifecycle = `<LifecycleConfiguration>${xml}</LifecycleConfiguration>`;
    return client.expiryRules(within());
  };
  const ON = '<Status>Enabled</Status>';
  const DAYS = '<Expiration><Days>3</Days></Expiration>';
  const TAG = '<Tag><Key>k</Key><Value>v</Value></Tag>';

  it.each<[string, string, object[]]>([
    ['with days', `${ON}<Filter><Prefix>a/</Prefix></Filter>${DAYS}`, [{ prefix: 'a/', days: 3 }]],
    [
      'with a date',
      `${ON}<Filter/><Expiration><Date>2026-11-26T00:00:00.000Z</Date></Expiration>`,
      [{ prefix: '', from: new Date('2026-11-26') }],
    ],
    ['without a filter', `${ON}${DAYS}`, [{ prefix: '', days: 3 }]],
    ['with the older form of the prefix', `${ON}<Prefix>a</Prefix>${DAYS}`, [{ prefix: 'a', days: 3 }]],
    [
      'with a size',
      `${ON}<Filter><ObjectSizeGreaterThan>9</ObjectSizeGreaterThan></Filter>${DAYS}`,
      [{ prefix: '', days: 3 }],
    ],
    [
      'with a size and a prefix',
      `${ON}<Filter><And><Prefix>a</Prefix><ObjectSizeLessThan>9</ObjectSizeLessThan></And></Filter>${DAYS}`,
      [{ prefix: 'a', days: 3 }],
    ],
    ['with a tag, which no object has', `${ON}<Filter>${TAG}</Filter>${DAYS}`, []],
    ['with a tag and a prefix', `${ON}<Filter><And><Prefix>a</Prefix>${TAG}</And></Filter>${DAYS}`, []],
    [
      'that archive, and delete later',
      `${ON}<Filter/><Transition><Days>1</Days><StorageClass>DEEP_ARCHIVE</StorageClass></Transition>${DAYS}`,
      [
        { prefix: '', days: 3 },
        { prefix: '', days: 1, archive: 'DEEP_ARCHIVE' },
      ],
    ],
    [
      'that archive from a date on',
      `${ON}<Filter/><Transition><Date>2026-11-26T00:00:00.000Z</Date><StorageClass>GLACIER</StorageClass></Transition>`,
      [{ prefix: '', from: new Date('2026-11-26'), archive: 'GLACIER' }],
    ],
    [
      'that move objects where they can still be read',
      `${ON}<Filter/><Transition><Days>1</Days><StorageClass>GLACIER_IR</StorageClass></Transition><Transition><Days>9</Days><StorageClass>STANDARD_IA</StorageClass></Transition>`,
      [],
    ],
    ['that are disabled', `<Status>Disabled</Status><Filter/>${DAYS}`, []],
    [
      'that delete markers of earlier deletions',
      `${ON}<Filter/><Expiration><ExpiredObjectDeleteMarker>true</ExpiredObjectDeleteMarker></Expiration>`,
      [],
    ],
    [
      'that delete earlier versions',
      `${ON}<Filter/><NoncurrentVersionExpiration><NoncurrentDays>1</NoncurrentDays></NoncurrentVersionExpiration>`,
      [],
    ],
  ])('%s', async (_, rule, expected) => {
    expect(await rulesOf(rule)).toEqual(expected.map((one) => ({ id: 'r', ...one })));
  });

  it('are all those of the bucket, or none', async () => {
    expect(await rulesOf(`${ON}${DAYS}`, `${ON}<Filter><Prefix>a</Prefix></Filter>${DAYS}`)).toHaveLength(2);
    s3.lifecycle = undefined;
    expect(await client.expiryRules(within())).toEqual([]);
  });
});
