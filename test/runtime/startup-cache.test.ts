import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/runtime/clock.ts';
import { type CacheFileObserver, cacheFile } from '../../src/runtime/startup-cache.ts';
import { cachedRecords } from '../../src/subscriptions/subscription-record.ts';
import { until } from '../support/until.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'hookline-kept-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const noFault: CacheFileObserver = {
  notWritten: (_, error) => expect.fail(String(error)),
  damaged: (_, error) => expect.fail(String(error)),
};
const asIs = (content: unknown) => content;

/** Reads the file with this content as a start does, and gives what it says of it. */
function readDamaged(content: string | Buffer) {
  const path = join(dir, 'subscriptions.json');
  writeFileSync(path, content);
  const said: [string, string][] = [];
  const damaged = (file: string, error: unknown) => said.push([file, (error as Error).message]);
  const records = cachedRecords(
    cacheFile(dir, 'subscriptions.json', { ...noFault, damaged }),
    systemClock,
  ).read();
  return { records, said, path };
}

const record = (ref: string, sealedKeys: Buffer | null) => ({
  ref,
  state: 'ACTIVE' as const,
  subscriptionId: null,
  receiverUrl: '',
  events: ['payment-status'],
  owner: 'payments.commands',
  commandId: null,
  updatedAt: 5,
  sealedKeys,
});

describe('a file beside the spool', () => {
  it('gives back what was written last, for its owner alone', () => {
    const file = cacheFile(dir, 'a.json', noFault);
    expect(file.read(asIs)).toBeUndefined();
    file.write({ n: 1 });
    file.write({ n: 2 });
    expect(cacheFile(dir, 'a.json', noFault).read(asIs)).toEqual({ n: 2 });
    expect(statSync(join(dir, 'a.json')).mode & 0o077).toBe(0);
  });

  it('says where it can not be written', () => {
    const faults: string[] = [];
    const notWritten = (path: string) => faults.push(path);
    cacheFile(join(dir, 'nowhere'), 'a.json', { ...noFault, notWritten }).write({});
    expect(faults).toEqual([join(dir, 'nowhere', 'a.json')]);
  });

  const whole = { ...record('a', null), sealedKeys: 'AQ==' };
  it.each([
    ['cut off', '{"cut', 'it is no JSON'],
    ['empty', '', 'it is no JSON'],
    ['bytes of zero', Buffer.alloc(512), 'it is no JSON'],
    ['no list', '{}', 'it is not a list'],
    ['a list of null', '[null]', 'item 0 is not a subscription'],
    ['sealed keys that are a number', [{ ...whole, sealedKeys: 5 }], 'item 0 is not a subscription'],
    ['sealed keys that are missing', [{ ...whole, sealedKeys: undefined }], 'item 0 is not a subscription'],
    ['events that are none', [whole, { ...whole, events: 'all' }], 'item 1 is not a subscription'],
    ['a state that nobody knows', [{ ...whole, state: 'GONE' }], 'item 0 is not a subscription'],
    ['a time that is text', [{ ...whole, updatedAt: 'now' }], 'item 0 is not a subscription'],
  ])('that is %s is ignored, and named', (_, content, why) => {
    const text = Array.isArray(content) ? JSON.stringify(content) : content;
    const { records, said, path } = readDamaged(text);
    expect(records).toEqual([]);
    expect(said).toEqual([[path, why]]);
  });

  it('keeps subscriptions with their sealed keys, the last of several changes', async () => {
    const file = cacheFile(dir, 'subscriptions.json', noFault);
    const records = [record('a', Buffer.from([1, 255])), record('b', null)];
    const kept = cachedRecords(file, systemClock);
    kept.keep(() => []);
    kept.keep(() => records);
    await until('they are written', () => file.read(asIs) !== undefined);
    expect(cachedRecords(file, systemClock).read()).toEqual([]);
    kept.keep(() => records);
    await until('they are written', () => cachedRecords(file, systemClock).read().length > 0);
    expect(cachedRecords(file, systemClock).read()).toEqual(records);
    kept.stop();
  });
});
