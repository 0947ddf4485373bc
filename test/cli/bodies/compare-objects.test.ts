import { beforeEach, describe, expect, it } from 'vitest';
import { compareObjects, listObjects } from '../../../src/cli/bodies/compare-objects.ts';
import type { References } from '../../../src/cli/bodies/read-references.ts';
import { Unchecked } from '../../../src/cli/bodies/unchecked.ts';
import { sha256Of } from '../../../src/crypto/ids.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { type ScriptedObjectStore, scriptedBodies } from '../../support/scripted-object-store.ts';

const NEVER = new AbortController().signal;
let store: ScriptedObjectStore;
let bodies: ReturnType<typeof scriptedBodies>['bodies'];
let references: References;
let notes: string[];
let unchecked: Unchecked;

beforeEach(() => {
  ({ store, bodies } = scriptedBodies(systemClock, 50));
  references = new Map();
  notes = [];
  unchecked = new Unchecked((line) => notes.push(line));
});

/** A record that refers to an object, which is there unless told otherwise. */
function refer(uri: string, text = '{}', isThere = true): void {
  const bytes = Buffer.from(text);
  const reference = { uri, bytes: bytes.length, sha256: sha256Of(bytes) };
  references.set(uri, { reference, at: `t[0]@${references.size}` });
  if (isThere) store.objects.set(uri.slice('s3://events/'.length), bytes);
}

async function compare(verify = false) {
  const listing = await listObjects(bodies, NEVER);
  return compareObjects(references, { bodies, listing, verify, unchecked, signal: NEVER });
}
const findingsOf = async (verify?: boolean) =>
  (await compare(verify)).rows.map(({ finding, object, record }) => [finding, object, record]);

describe('the comparison of references with objects', () => {
  it('asks for no object by itself that the listing has', async () => {
    for (const name of ['a.json', 'b.bin']) refer(`s3://events/hookline/${name}`);
    expect(await findingsOf()).toEqual([]);
    expect(store.calls).toEqual([]);
  });

  it('finds objects below an earlier prefix, and misses those that are missing there', async () => {
    refer('s3://events/earlier/a.json');
    refer('s3://events/earlier/b.json', '{}', false);
    refer('s3://events/c.json');
    store.objects.set('c.json', Buffer.from('[1]'));
    expect(await findingsOf()).toEqual([
      ['missing', 's3://events/earlier/b.json', 't[0]@1'],
      ['changed', 's3://events/c.json', 't[0]@2'],
    ]);
    expect(unchecked.count).toBe(0);
  });

  it.each([false, true])(
    'finds objects that are archived and cannot be read (--verify: %s)',
    async (verify) => {
      for (const name of ['a.json', 'b.json']) refer(`s3://events/hookline/${name}`);
      store.archives.set('hookline/b.json', 'DEEP_ARCHIVE');
      expect(await findingsOf(verify)).toEqual([['archived', 's3://events/hookline/b.json', 't[0]@1']]);
      expect(unchecked.count).toBe(0);
    },
  );

  it('finds an object that was stored after the listing', async () => {
    const listing = await listObjects(bodies, NEVER);
    refer('s3://events/hookline/late.json');
    const { rows } = await compareObjects(references, {
      bodies,
      listing,
      verify: false,
      unchecked,
      signal: NEVER,
    });
    expect(rows).toEqual([]);
  });

  it('asks for a few at a time, and keeps the order of the records', async () => {
    let asking = 0;
    let most = 0;
    store.fateOf = async () => {
      most = Math.max(most, ++asking);
      await systemClock.sleep(1);
      asking--;
      return undefined;
    };
    for (let n = 0; n < 50; n++) refer(`s3://events/earlier/${n}.json`, '{}', n % 2 === 0);
    expect((await findingsOf()).map(([, , record]) => record)).toEqual(
      Array.from({ length: 25 }, (_, n) => `t[0]@${2 * n + 1}`),
    );
    expect(most).toBe(8);
  });

  it('counts objects of other buckets, and does not ask for them', async () => {
    refer('s3://old/hookline/a.json', '{}', false);
    refer('s3://old/hookline/b.json', '{}', false);
    refer('s3://events-2/a.json', '{}', false);
    refer('/etc/passwd', '{}', false);
    const { rows, elsewhere } = await compare();
    expect(rows).toEqual([]);
    expect([...elsewhere]).toEqual([
      ['s3://old', 2],
      ['s3://events-2', 1],
      ['', 1],
    ]);
    expect(store.calls).toEqual([]);
  });

  it('counts what the store denies, names the first ten, and calls none missing', async () => {
    store.fateOf = () => 'refused';
    for (let n = 0; n < 12; n++) refer(`s3://events/earlier/${n}.json`);
    expect(await findingsOf()).toEqual([]);
    expect([unchecked.count, notes.length, store.calls.length]).toEqual([12, 10, 12]);
    expect(notes[0]).toBe('s3://events/earlier/0.json: the script says refused');
  });

  it('verifies bytes on request, and tells a store that does not answer from an object that changed', async () => {
    for (const name of ['a', 'b', 'c', 'd']) refer(`s3://events/hookline/${name}.json`);
    store.objects.set('hookline/a.json', Buffer.from('[]'));
    expect(await findingsOf()).toEqual([]);
    store.fateOf = (call) => (/[cd].json/.test(call) ? 'unavailable' : undefined);
    expect(await findingsOf(true)).toEqual([['changed', 's3://events/hookline/a.json', 't[0]@0']]);
    // The last one was not asked for: the store had not answered for as long as it has.
    expect(store.calls.at(-1)).toBe('read hookline/c.json');
    expect(unchecked.count).toBe(2);
  });
});

it('a listing leaves out the objects by which the store is tried', async () => {
  for (const key of ['a.json', 'b.bin', 'hookline-check.json', 'hookline-doctor-1.json', 'notes.txt'])
    store.objects.set(`hookline/${key}`, Buffer.from('{}'));
  store.objects.set('hookline-2/a.json', Buffer.from('{}'));
  expect([...(await listObjects(bodies, NEVER)).keys()]).toEqual([
    's3://events/hookline/a.json',
    's3://events/hookline/b.bin',
  ]);
});
