import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/runtime/clock.ts';
import { LiveKeyring } from '../../src/subscriptions/keyring.ts';
import type { SubscriptionRecord } from '../../src/subscriptions/subscription-record.ts';
import { subscriptionRecord } from '../support/subscription-record.ts';

const id = (n: number) => `${n}`.repeat(36);
const KEY = 'k'.repeat(32);
const NOW = 1_000_000;
const record = (state: SubscriptionRecord['state'], more: Partial<SubscriptionRecord> = {}) =>
  subscriptionRecord({
    state,
    subscriptionId: state === 'REQUESTED' ? null : id(1),
    updatedAt: NOW,
    ...more,
  });
const retired = { subscriptionId: id(7), signingSecret: id(8), retiredAt: Date.now() };
const dirOf = (secrets: string[], ids = [id(1)]) => ({
  subscriptionIds: ids,
  signingSecrets: secrets,
  encryptionKeys: [KEY],
});
const newKeyring = () => new LiveKeyring({ clock: systemClock, retiredKeysTtlMs: 60_000 });
const places = (keyring: LiveKeyring, ref: string, now = NOW) =>
  keyring.signingKeysOf(ref, now).map(({ index: place }) => place);

describe('the keyring', () => {
  it('has as many keys for every ref, known or not: decoys, which no delivery is signed with', () => {
    const keyring = newKeyring();
    expect(places(keyring, 'unknown')).toEqual([-1]);
    keyring.setDir('a', dirOf([id(2), id(3), id(4)]));
    expect([places(keyring, 'a'), places(keyring, 'unknown')]).toEqual([
      [0, 1, 2],
      [-1, -1, -1],
    ]);
    keyring.setDir('a', null);
    expect([places(keyring, 'a'), keyring.refs()]).toEqual([[-1, -1, -1], []]);
  });

  it('knows a ref from both sides, and forgets one without the other', () => {
    const keyring = newKeyring();
    keyring.setRecord('a', record('ACTIVE'), { signingSecret: id(2) });
    keyring.setDir('a', dirOf([id(3), id(4)]));
    expect(places(keyring, 'a')).toEqual([0, 1]);
    keyring.setDir('a', null);
    expect(places(keyring, 'a')).toEqual([0, -1]);
    keyring.setDir('a', dirOf([id(3)]));
    keyring.setRecord('a', null, null);
    expect(places(keyring, 'a')).toEqual([0, -1]);
    expect(keyring.encryptionKeysOf('a')).toHaveLength(1);
  });

  it('lets the keys of a deleted subscription go when their time is up', () => {
    const keyring = newKeyring();
    const secrets = { signingSecret: id(2), encryptionKey: KEY };
    keyring.setRecord('a', record('RETIRED', { updatedAt: Date.now() }), secrets);
    expect(places(keyring, 'a', Date.now())).toEqual([0]);
    const later = Date.now() + 60_001;
    expect([places(keyring, 'a', later), keyring.encryptionKeysOf('a', later)]).toEqual([[-1], []]);
  });

  it('is pending for a ref that is being created, until its key is here from either side', () => {
    const keyring = newKeyring();
    expect(keyring.isPending('a')).toBe(false);
    keyring.setRecord('a', record('REQUESTED'), { encryptionKey: KEY });
    expect(keyring.isPending('a')).toBe(true);
    keyring.setDir('a', dirOf([id(2)], []));
    expect(keyring.isPending('a')).toBe(true);
    keyring.setDir('a', dirOf([id(2)]));
    expect(keyring.isPending('a')).toBe(false);
    keyring.setDir('a', null);
    keyring.setRecord('a', record('ACTIVE'), { signingSecret: id(2) });
    expect(keyring.isPending('a')).toBe(false);
  });

  it('keeps the keys of a subscription whose record was sealed anew with a key that is not here yet', () => {
    const keyring = newKeyring();
    const sealed = { sealedKeys: Buffer.from('sealed') };
    keyring.setRecord('a', record('ACTIVE', sealed), { signingSecret: id(2), encryptionKey: KEY });
    keyring.setRecord('a', record('ACTIVE', { ...sealed, events: ['b'] }), null);
    expect([places(keyring, 'a'), keyring.decryptionKeysOf('a').length]).toEqual([[0], 1]);
    // It may be another secret all the same.
    expect(keyring.isPending('a')).toBe(true);
    keyring.setRecord('a', record('ACTIVE', { ...sealed, subscriptionId: id(3) }), null);
    expect([places(keyring, 'a'), keyring.isPending('a')]).toEqual([[-1], true]);
    keyring.setRecord('a', record('ACTIVE', sealed), { signingSecret: id(2) });
    expect([places(keyring, 'a'), keyring.isPending('a')]).toEqual([[0], false]);
  });

  it('is pending for a ref whose record cannot be opened or read, unless it was deleted long ago', () => {
    const keyring = newKeyring();
    const sealed = { sealedKeys: Buffer.from('sealed') };
    keyring.setRecord('a', record('ACTIVE', sealed), null);
    keyring.setUnreadable('b');
    expect(['a', 'b', 'c'].map((ref) => keyring.isPending(ref))).toEqual([true, true, false]);
    keyring.setDir('a', dirOf([id(2)]));
    expect(keyring.isPending('a')).toBe(false);
    keyring.setDir('a', null);
    keyring.setRecord('a', record('RETIRED', { ...sealed, updatedAt: Date.now() }), null);
    keyring.setRecord('b', record('RETIRED', { ...sealed, updatedAt: Date.now() - 60_000 }), null);
    expect(['a', 'b'].map((ref) => keyring.isPending(ref))).toEqual([true, false]);
    keyring.setRecord('a', null, null);
    expect(keyring.isPending('a')).toBe(false);
    // What cannot be read may be of a new subscription.
    keyring.setUnreadable('b');
    expect(keyring.isPending('b')).toBe(true);
    // A file has the secret, and the record the id.
    keyring.setRecord('d', record('ACTIVE', { ...sealed, ref: 'd' }), null);
    keyring.setDir('d', dirOf([id(2)], []));
    expect([keyring.isPending('d'), places(keyring, 'd')[0]]).toEqual([false, 0]);
  });

  it('is pending for every ref while the topic cannot be read', () => {
    const keyring = newKeyring();
    keyring.setRecord('a', record('ACTIVE'), { signingSecret: id(2) });
    keyring.incomplete();
    expect(keyring.isPending('No-Ref')).toBe(false);
    expect([keyring.isPending('a'), keyring.isPending('b'), places(keyring, 'a')]).toEqual([true, true, [0]]);
    keyring.complete();
    expect([keyring.isPending('a'), keyring.isPending('b')]).toEqual([false, false]);
  });

  it('is pending though keys of an earlier subscription are live: they are not the new one', () => {
    const keyring = newKeyring();
    keyring.setRecord('a', record('REQUESTED'), { encryptionKey: KEY, previous: [retired] });
    expect(keyring.isPending('a')).toBe(true);
    expect(places(keyring, 'a', Date.now())).toEqual([0]);
  });

  it('wakes all who wait for a key when it comes, and only them', async () => {
    const keyring = newKeyring();
    for (const ref of ['a', 'b']) keyring.setRecord(ref, record('REQUESTED'), {});
    const waiting = Promise.all([keyring.whilePending('a', 60_000), keyring.whilePending('a', 60_000)]);
    let isOtherAwake = false;
    const other = keyring.whilePending('b', 60_000).then(() => {
      isOtherAwake = true;
    });
    // A change that brings no key wakes nobody for good.
    keyring.setRecord('a', record('REQUESTED', { events: ['payment-status'] }), {});
    keyring.setRecord('a', record('ACTIVE'), { signingSecret: id(2) });
    await waiting;
    expect(isOtherAwake).toBe(false);
    keyring.setRecord('b', null, null);
    await other;
  });

  it('waits no longer than it was told', async () => {
    const keyring = newKeyring();
    keyring.setRecord('a', record('REQUESTED'), {});
    await keyring.whilePending('a', 20);
    expect(keyring.isPending('a')).toBe(true);
  });
});
