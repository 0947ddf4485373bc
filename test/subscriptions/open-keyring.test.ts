import { randomBytes } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { HooklineError } from '../../src/core/errors.ts';
import { parseSealingKeys, readSealingKeys } from '../../src/crypto/sealing.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { cacheFile } from '../../src/runtime/startup-cache.ts';
import { LiveKeyring } from '../../src/subscriptions/keyring.ts';
import { followKeys, openKeyring } from '../../src/subscriptions/open-keyring.ts';
import {
  type CachedRecords,
  cachedRecords,
  type SubscriptionRecord,
  sealSecrets,
} from '../../src/subscriptions/subscription-record.ts';
import { answer, ScriptedTopic } from '../support/scripted-topic.ts';
import { subscriptionRecord } from '../support/subscription-record.ts';
import { Fixture } from '../support/topics-fixture.ts';
import { until } from '../support/until.ts';

const newKeys = () => parseSealingKeys(randomBytes(32)) ?? expect.fail('no key');
const sealingKeys = newKeys();
const id = '1'.repeat(36);
const recordOf = (sealedKeys: Buffer | null) =>
  subscriptionRecord({ subscriptionId: id, sealedKeys, updatedAt: 0 });

const UNOBSERVED = {
  secretsRead() {},
  secretsFaulty() {},
  sealed() {},
  unreadable() {},
  awaited() {},
  brokenOff() {},
};

const sealed = sealSecrets(sealingKeys, recordOf(null), { signingSecret: id });

function follow(keys: typeof sealingKeys | undefined) {
  const keyring = new LiveKeyring({ clock: systemClock, retiredKeysTtlMs: 1_000 });
  const closed: string[] = [];
  const take = followKeys({ keyring, sealingKeys: keys, onSealed: ({ ref }) => closed.push(ref) });
  return { keyring, closed, take };
}

describe('a record of the state topic', () => {
  it('brings its keys to the keyring, and takes them with it when it is forgotten', () => {
    const { keyring, closed, take } = follow(sealingKeys);
    take('a', recordOf(sealed));
    expect(keyring.refs()).toEqual(['a']);
    take('a', null);
    expect([keyring.refs(), closed]).toEqual([[], []]);
  });

  it.each([
    ['another sealing key', () => newKeys()],
    ['none', () => undefined],
  ])('that %s does not open is told, and the keys from files stay live', (_, keys) => {
    const { keyring, closed, take } = follow(keys());
    keyring.setDir('a', { subscriptionIds: [id], signingSecrets: [id], encryptionKeys: [] });
    take('a', recordOf(sealed));
    expect([closed, keyring.signingKeysOf('a').map(({ index: place }) => place)]).toEqual([['a'], [0]]);
  });

  it('without sealed keys, as of an adopted subscription, is nothing to tell of', () => {
    const { closed, take } = follow(sealingKeys);
    take('a', recordOf(null));
    expect(closed).toEqual([]);
  });
});

describe('a renewed sealing key', () => {
  async function openWithCached(record: SubscriptionRecord, topicForgets: boolean) {
    const old = newKeys();
    const next = sealingKeys;
    const listeners: ((keys: typeof old) => void)[] = [];
    const keys = {
      ...old,
      onRenewed: (listener: (typeof listeners)[number]) => void listeners.push(listener),
    };
    const topic = new ScriptedTopic([0]);
    append(topic, 'another', '');
    const waits = new Promise<never>(() => {});
    const opened = await openKeyring({
      secretsDir: undefined,
      retiredKeysTtlMs: 1_000,
      sealingKeys: keys,
      topic: 't',
      clock: systemClock,
      openTopic: () => topic.open(),
      read: async () => ({}),
      observer: UNOBSERVED,
      open: (attempt) => (topicForgets ? attempt() : waits),
      stopping: new AbortController().signal,
      cache: { read: () => [record, { ...recordOf(null), ref: 'another' }], keep() {}, stop() {} },
    });
    if (topicForgets) await opened.topicRead;
    Object.assign(keys, next);
    for (const listener of listeners) listener(next);
    const live = opened.keyring.signingKeysOf('a').filter(({ index }) => index >= 0);
    await opened.stop();
    return live;
  }

  it('opens what no key opened before', async () => {
    expect(await openWithCached(recordOf(sealed), false)).toHaveLength(1);
  });

  it('brings no subscription back that was deleted meanwhile', async () => {
    expect(await openWithCached(recordOf(sealed), true)).toEqual([]);
  });
});

describe('the state topic', () => {
  it('that cannot be read any more leaves refs pending until it is read again, and those it has unreadable', async () => {
    const topic = new ScriptedTopic([0]);
    append(topic, 'a', 'readable');
    let broken = 0;
    await using the = await openScripted(topic, { brokenOff: () => broken++ });
    const { keyring } = the;
    const pending = () => ['a', 'b', 'c'].map((ref) => keyring.isPending(ref));
    expect(pending()).toEqual([false, false, false]);
    topic.failures.set(0, Array(40).fill(new HooklineError('KAFKA_REFUSED', 't: this user may not read it')));
    await until('it cannot be read', () => broken > 0);
    append(topic, 'b', 'not to be read');
    expect(pending()).toEqual([true, true, true]);
    expect(keyring.signingKeysOf('a').filter(({ index }) => index >= 0)).toHaveLength(1);
    await until('it is read again', () => !keyring.isPending('c'));
    expect([topic.failures.get(0), pending()]).toEqual([[], [false, true, false]]);
  });

  it('whose brokers are unavailable leaves nothing pending: nobody creates a subscription meanwhile', async () => {
    const topic = new ScriptedTopic([0]);
    let broken = 0;
    await using the = await openScripted(topic, { brokenOff: () => broken++ });
    topic.failures.set(0, Array(40).fill(new HooklineError('KAFKA_UNAVAILABLE')));
    await until('it is broken off', () => broken > 0);
    expect(the.keyring.isPending('a')).toBe(false);
  });

  it('with a record that cannot be read keeps what an earlier process knew of the ref', async () => {
    const topic = new ScriptedTopic([0]);
    append(topic, 'a', 'not to be read');
    const kept: (readonly SubscriptionRecord[])[] = [];
    const cached = [recordOf(sealed), { ...recordOf(null), ref: 'forgotten' }];
    const cache: CachedRecords = { read: () => cached, keep: (all) => kept.push(all()), stop() {} };
    await using the = await openScripted(topic, {}, cache);
    const live = the.keyring.signingKeysOf('a').filter(({ index }) => index >= 0);
    expect([live.length, the.keyring.isPending('a')]).toEqual([1, true]);
    expect(kept.at(-1)?.map(({ ref }) => ref)).toEqual(['a']);
  });
});

describe('a state topic that was deleted and created anew', () => {
  it('leaves the keys that are known live, and says so once', async () => {
    const topic = new ScriptedTopic([0]);
    append(topic, 'a', 'readable');
    const lost: number[] = [];
    await using the = await openScripted(topic, { lost: (known: number) => lost.push(known) });
    topic.logs[0] = [];
    topic.topicId = 'second';
    topic.failures.set(0, [answer('UNKNOWN_TOPIC_ID')]);
    await until('it is noticed', () => lost.length > 0);
    append(topic, 'b', 'readable');
    await until('it is read', () => the.keyring.isPending('b'));
    expect([the.keyring.refs(), lost]).toEqual([['a'], [1]]);
  });

  it('before a start does not take with it what an earlier process knew', async () => {
    const lost: number[] = [];
    const kept: (readonly SubscriptionRecord[])[] = [];
    const cache: CachedRecords = {
      read: () => [{ ...recordOf(sealed), topicId: 'earlier' }],
      keep: (all: () => readonly SubscriptionRecord[]) => kept.push(all()),
      stop() {},
    };
    const topic = new ScriptedTopic([0]);
    await using the = await openScripted(topic, { lost: (known: number) => lost.push(known) }, cache);
    expect([the.keyring.refs(), lost, kept]).toEqual([['a'], [1], []]);
    expect(the.keyring.isPending('b')).toBe(false);
    append(topic, 'b', 'readable');
    await until('it is read', () => the.keyring.isPending('b'));
    expect(kept.at(-1)?.map(({ ref }) => ref)).toEqual(['a', 'b']);
  });

  const cacheOf = (known: readonly (readonly [string, string | undefined])[]) => {
    const written: (readonly [string, string | undefined])[][] = [];
    const cache: CachedRecords = {
      read: () =>
        known.map(([ref, topicId]) => {
          const record = { ...recordOf(null), ref };
          const sealedKeys = sealSecrets(sealingKeys, record, { signingSecret: id });
          return { ...record, sealedKeys, ...(topicId !== undefined && { topicId }) };
        }),
      keep: (all) => written.push(all().map(({ ref, topicId }) => [ref, topicId])),
      stop() {},
    };
    return { cache, written };
  };

  it('keeps what it does not have yet, also where it has others again, and at the next start', async () => {
    const topic = new ScriptedTopic([0]);
    append(topic, 'a', 'readable');
    const lost: number[] = [];
    const { cache, written } = cacheOf(['a', 'b', 'c'].map((ref) => [ref, 'earlier']));
    await using the = await openScripted(topic, { lost: (known: number) => lost.push(known) }, cache);
    expect([the.keyring.refs(), lost]).toEqual([['a', 'b', 'c'], [2]]);
    const known = written.at(-1) ?? expect.fail('not written');
    expect(known).toEqual([
      ['a', 'first'],
      ['b', 'earlier'],
      ['c', 'earlier'],
    ]);
    await using next = await openScripted(topic, {}, cacheOf(known).cache);
    expect(next.keyring.refs()).toEqual(['a', 'b', 'c']);
  });

  it.each([
    ['says that its only one was forgotten', 'earlier', true],
    ['lacks the only one that it had: what said so was compacted away', 'first', false],
    ['lacks the only one of a cache file of an older version', undefined, false],
  ])('keeps none, and reports no loss, where it %s', async (_, topicId, hasTombstone) => {
    const topic = new ScriptedTopic([0]);
    append(topic, 'a', 'readable');
    Object.assign(topic.logs[0]?.[0] ?? {}, hasTombstone ? { value: null } : { key: Buffer.from('another') });
    const lost: number[] = [];
    const { cache, written } = cacheOf([['a', topicId]]);
    await using the = await openScripted(topic, { lost: (known: number) => lost.push(known) }, cache);
    expect([the.keyring.has('a'), lost]).toEqual([false, []]);
    expect(written.at(-1)?.some(([ref]) => ref === 'a')).toBe(false);
  });
});

it('an older record that a renewed key opens leaves a ref pending whose latest cannot be read', async () => {
  const topic = new ScriptedTopic([0]);
  append(topic, 'a', 'readable');
  append(topic, 'a', 'not to be read');
  const renewals: ((keys: typeof sealingKeys) => void)[] = [];
  const keys = { ...newKeys(), onRenewed: (one: (typeof renewals)[number]) => void renewals.push(one) };
  await using the = await openScripted(topic, {}, undefined, keys);
  const live = () => the.keyring.signingKeysOf('a').filter(({ index }) => index >= 0).length;
  expect([live(), the.keyring.isPending('a')]).toEqual([0, true]);
  Object.assign(keys, sealingKeys);
  for (const renewed of renewals) renewed(sealingKeys);
  expect([live(), the.keyring.isPending('a')]).toEqual([1, true]);
});

it('secrets that no key opens are told once for each ref, and not for one that the topic has forgotten', async () => {
  const topic = new ScriptedTopic([0]);
  for (const ref of ['a', 'a', 'forgotten']) append(topic, ref, 'readable');
  append(topic, 'forgotten', null);
  const told: string[] = [];
  const cache = { read: () => [recordOf(sealed)], keep() {}, stop() {} };
  await using _ = await openScripted(topic, { sealed: (ref: string) => told.push(ref) }, cache, newKeys());
  expect(told).toEqual(['a']);
  append(topic, 'later', 'readable');
  await until('it is told', () => told.length > 1);
  expect(told).toEqual(['a', 'later']);
});

function append(topic: ScriptedTopic, key: string, value: string | null) {
  topic.append(0, value ?? '');
  Object.assign(topic.logs[0]?.at(-1) ?? {}, { key: Buffer.from(key), ...(value === null && { value }) });
}

/** A keyring of a topic in which only `readable` can be read, with a hundredth of each wait. */
async function openScripted(
  topic: ScriptedTopic,
  observed: object,
  cache?: CachedRecords,
  keys: typeof sealingKeys = sealingKeys,
) {
  const opened = await openKeyring({
    secretsDir: undefined,
    retiredKeysTtlMs: 1_000,
    topic: 't',
    ...(cache && { cache }),
    sealingKeys: keys,
    clock: {
      ...systemClock,
      now: () => systemClock.now() * 100,
      sleep: (ms, options) => systemClock.sleep(ms / 100, options),
    },
    openTopic: () => topic.open(),
    async read(value) {
      if (String(value) === 'readable') return { ...recordOf(sealed) };
      throw new HooklineError('RECORD_UNREADABLE');
    },
    observer: { ...UNOBSERVED, ...observed },
    open: (attempt) => attempt(),
    stopping: new AbortController().signal,
  });
  await opened.topicRead;
  return { ...opened, [Symbol.asyncDispose]: () => opened.stop() };
}

describe('SEALING_KEY_FILE', () => {
  it('is read, or refused by its name without a word of what stands in it', async () => {
    await using fixture = new Fixture({ brokers: [], registryUrl: '' });
    expect(readSealingKeys(fixture.file('good', randomBytes(32).toString('base64'))).all).toHaveLength(1);
    const path = fixture.file('bad', 'not-a-key-at-all');
    const read = () => readSealingKeys(path);
    expect(read).toThrow(expect.objectContaining({ code: 'SEALING_KEY_INVALID' }));
    expect(read).toThrow(path);
    expect(read).not.toThrow('not-a-key-at-all');
  });
});

describe('the cache of an earlier process', () => {
  const of = (ref: string): SubscriptionRecord => {
    const record = { ...recordOf(null), ref };
    return { ...record, sealedKeys: sealSecrets(sealingKeys, record, { signingSecret: id }) };
  };
  const refused = () => new Error('ECONNREFUSED');

  it('keeps what a start has not read again, while a broker is unavailable', async () => {
    const faults = { notWritten: expect.fail, damaged: expect.fail };
    const file = cacheFile(mkdtempSync(join(tmpdir(), 'cache-')), 'subscriptions.json', faults);
    const cached = ['a', 'b'].map((ref) => ({
      ...of(ref),
      sealedKeys: of(ref).sealedKeys?.toString('base64'),
    }));
    file.write(cached);
    const topic = new ScriptedTopic([1, 2]);
    for (const [partition, ref] of ['a', 'b'].entries()) {
      topic.append(partition, ref);
      const one = topic.logs[partition]?.pop() ?? expect.fail('no record');
      topic.logs[partition]?.push({ ...one, key: Buffer.from(ref) });
    }
    topic.failures.set(2, Array.from({ length: 1_000 }, refused));
    const stopping = new AbortController();
    const written: unknown[] = [];
    const observed = {
      ...file,
      write(content: unknown) {
        written.push(content);
        file.write(content);
      },
    };
    const opened = await openKeyring({
      secretsDir: undefined,
      retiredKeysTtlMs: 1_000,
      sealingKeys,
      topic: 't',
      clock: systemClock,
      openTopic: () => topic.open(),
      read: async (value) => ({ ...of(`${value}`) }),
      observer: UNOBSERVED,
      open: (attempt) => attempt(),
      stopping: stopping.signal,
      cache: cachedRecords(observed, systemClock),
    });
    await until('the cache is written', () => written.length > 0);
    stopping.abort();
    await opened.stop();
    expect(file.read((content) => (content as { ref: string }[]).map(({ ref }) => ref))).toEqual(['a', 'b']);
  });
});
