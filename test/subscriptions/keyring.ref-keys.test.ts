import { describe, expect, it } from 'vitest';
import { type KeySources, refKeys } from '../../src/subscriptions/keyring.ts';
import type { SubscriptionRecord } from '../../src/subscriptions/subscription-record.ts';
import { subscriptionRecord } from '../support/subscription-record.ts';

const TTL = 1_000;
const NOW = 50_000;
const id = (n: number) => `${n}`.repeat(36);
const key = (n: number) => `${n}`.repeat(32);
const record = (more: Partial<SubscriptionRecord> = {}) => subscriptionRecord({ updatedAt: NOW, ...more });
const dir = (more: Partial<NonNullable<KeySources['dir']>> = {}) => ({
  subscriptionIds: [],
  signingSecrets: [],
  encryptionKeys: [],
  ...more,
});

/** The keys in words: id/secret pairs and encryption keys. */
function keysOf(sources: KeySources, now = NOW) {
  const keys = refKeys(sources, TTL, now);
  const text = (object: { export(): Buffer }) => object.export().toString('latin1');
  return (
    keys && {
      signing: keys.signing.map((one) => `${one.index}: ${text(one.key.object)}`),
      encryption: keys.encryption.map((one) => `${one.index}: ${text(one.key)}`),
      expiresAt: keys.expiresAt,
    }
  );
}

describe('the live keys of a ref', () => {
  it('are none where nothing is known, or no secret', () => {
    expect(keysOf({})).toBeNull();
    expect(keysOf({ record: record(), secrets: null })).toBeNull();
    expect(keysOf({ record: record(), secrets: {} })).toBeNull();
    expect(keysOf({ dir: dir() })).toBeNull();
  });

  it("come from the record: the subscription's id and secret, and its encryption key", () => {
    const secrets = { signingSecret: id(2), encryptionKey: key(3) };
    expect(keysOf({ record: record(), secrets })).toEqual({
      signing: [`0: ${id(1)}${id(2)}`],
      encryption: [`0: ${key(3)}`],
      expiresAt: Number.POSITIVE_INFINITY,
    });
  });

  it('come from the files first: every pair of their ids and secrets, and no signing secret of the record', () => {
    const sources = {
      record: record(),
      secrets: { signingSecret: id(9), encryptionKey: key(9) },
      dir: dir({ subscriptionIds: [id(3), id(4)], signingSecrets: [id(5), id(6)], encryptionKeys: [key(7)] }),
    };
    expect(keysOf(sources)).toMatchObject({
      signing: [`0: ${id(3)}${id(5)}`, `1: ${id(3)}${id(6)}`, `2: ${id(4)}${id(5)}`, `3: ${id(4)}${id(6)}`],
      encryption: [`0: ${key(7)}`, `1: ${key(9)}`],
    });
  });

  it("join a file's secret with the record's id, and a file's encryption key with the record's secret", () => {
    const secrets = { signingSecret: id(2), encryptionKey: key(3) };
    expect(keysOf({ record: record(), secrets, dir: dir({ signingSecrets: [id(5)] }) })).toMatchObject({
      signing: [`0: ${id(1)}${id(5)}`],
      encryption: [`0: ${key(3)}`],
    });
    expect(keysOf({ record: record(), secrets, dir: dir({ encryptionKeys: [key(4)] }) })).toMatchObject({
      signing: [`0: ${id(1)}${id(2)}`],
      encryption: [`0: ${key(4)}`, `1: ${key(3)}`],
    });
  });

  it("join a file's secret with the ids of subscriptions that the ref had before, each until its time", () => {
    const previous = [{ subscriptionId: id(7), encryptionKey: key(8), retiredAt: NOW - 10 }];
    const sources = {
      record: record(),
      secrets: { encryptionKey: key(3), previous },
      dir: dir({ signingSecrets: [id(5)] }),
    };
    expect(keysOf(sources)).toMatchObject({
      signing: [`0: ${id(1)}${id(5)}`, `1: ${id(7)}${id(5)}`],
      encryption: [`0: ${key(3)}`, `1: ${key(8)}`],
    });
    expect(keysOf(sources, NOW + TTL)).toMatchObject({ signing: [`0: ${id(1)}${id(5)}`] });
  });

  it("join a file's secret with the ids of the last eight alone: each costs every refused webhook a hash", () => {
    const previous = Array.from({ length: 100 }, (_, n) => ({
      subscriptionId: `${n}`.padStart(36, '0'),
      encryptionKey: key(8),
      retiredAt: NOW - 10,
    }));
    const sources = { record: record(), secrets: { previous }, dir: dir({ signingSecrets: [id(5)] }) };
    expect(keysOf(sources)?.signing).toHaveLength(9);
  });

  it('of a deleted subscription end with their time', () => {
    const sources = { record: record({ state: 'RETIRED' }), secrets: { signingSecret: id(2) } };
    expect(keysOf(sources, NOW + TTL - 1)).toMatchObject({ expiresAt: NOW + TTL });
    expect(keysOf(sources, NOW + TTL)).toBeNull();
  });

  it('of subscriptions that the ref had before stand behind the present ones, each until its own time', () => {
    const previous = [
      { subscriptionId: id(7), signingSecret: id(8), encryptionKey: key(8), retiredAt: NOW - 10 },
      { subscriptionId: id(5), signingSecret: id(6), retiredAt: NOW - 900 },
    ];
    const sources = { record: record(), secrets: { signingSecret: id(2), encryptionKey: key(8), previous } };
    expect(keysOf(sources)).toEqual({
      signing: [`0: ${id(1)}${id(2)}`, `1: ${id(7)}${id(8)}`, `2: ${id(5)}${id(6)}`],
      encryption: [`0: ${key(8)}`],
      expiresAt: NOW + 100,
    });
    expect(keysOf(sources, NOW + 100)).toMatchObject({
      signing: [`0: ${id(1)}${id(2)}`, `1: ${id(7)}${id(8)}`],
    });
  });

  it('of an intent are those of before alone', () => {
    const previous = [{ subscriptionId: id(7), signingSecret: id(8), retiredAt: NOW }];
    const requested = record({ state: 'REQUESTED', subscriptionId: null });
    expect(keysOf({ record: requested, secrets: { encryptionKey: key(3), previous } })).toMatchObject({
      signing: [`0: ${id(7)}${id(8)}`],
    });
  });
});
