import { expect, it } from 'vitest';
import { encryptionKey, signingKey } from '../../src/crypto/keys.ts';
import { KeyChanges } from '../../src/ingress/key-changes.ts';
import { observeDelivery } from '../../src/ingress/observe-delivery.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { createMetrics } from '../../src/runtime/metrics.ts';

const ID = 'i'.repeat(36);
const secret = (letter: string) => letter.repeat(36);

/** A keyring whose signing keys change, and what the metrics say of them. */
function observed() {
  let secrets: string[] = [];
  const keyring = {
    version: 0,
    refs: () => (secrets.length > 0 ? ['eu'] : []),
    // As it is read anew: the same secrets are other objects.
    signingKeysOf: () => secrets.map((one, index) => signingKey(ID, one, index)),
    encryptionKeysOf: () => [encryptionKey('k'.repeat(32), 0)],
  };
  const metrics = createMetrics({ ofNode: false });
  const { keyMatched } = observeDelivery({ metrics, clock: systemClock }, new KeyChanges(keyring));
  return {
    keyMatched,
    change(...now: string[]) {
      secrets = now;
      keyring.version++;
    },
    async matches(...now: string[]) {
      if (now.join() !== secrets.join()) this.change(...now);
      for (const sample of metrics.samplers) sample();
      const of = async (name: string) =>
        ((await metrics.registry.getSingleMetric(name)?.get())?.values ?? []).map(
          ({ labels, value }) => [`${labels.use} ${labels.key}`, value] as const,
        );
      const last = await of('hookline_key_last_matched_timestamp_seconds');
      expect(last.map(([key]) => key)).toEqual((await of('hookline_key_matches_total')).map(([key]) => key));
      return Object.fromEntries(await of('hookline_key_matches_total'));
    },
  };
}

it('what a key has matched is not said of the one that is put before it', async () => {
  const the = observed();
  expect(await the.matches(secret('a'))).toEqual({});
  for (let n = 0; n < 5; n++) the.keyMatched('eu', 'signing', 0);
  the.keyMatched('eu', 'encryption', 0);
  expect(await the.matches(secret('a'))).toEqual({ 'signing 0': 5, 'encryption 0': 1 });
  expect(await the.matches(secret('b'), secret('a'))).toEqual({ 'encryption 0': 1 });
  the.keyMatched('eu', 'signing', 1);
  expect(await the.matches(secret('b'), secret('a'))).toEqual({ 'signing 1': 1, 'encryption 0': 1 });
  expect(await the.matches(secret('b'))).toEqual({ 'encryption 0': 1 });
});

it('what a key has matched stays where another one is added behind it', async () => {
  const the = observed();
  await the.matches(secret('a'));
  the.keyMatched('eu', 'signing', 0);
  await the.matches(secret('a'));
  expect(await the.matches(secret('a'), secret('b'))).toEqual({ 'signing 0': 1 });
});

it('what a key has matched is not said of the one that comes after a time without any', async () => {
  const the = observed();
  await the.matches(secret('a'));
  the.keyMatched('eu', 'signing', 0);
  expect(await the.matches(secret('a'))).toEqual({ 'signing 0': 1 });
  expect(await the.matches()).toEqual({});
  expect(await the.matches(secret('b'))).toEqual({});
});

it('what a new key has matched before the first look at it is counted, and what the old one had matched is not', async () => {
  const the = observed();
  await the.matches(secret('a'));
  the.keyMatched('eu', 'signing', 0);
  the.change(secret('b'), secret('a'));
  for (let n = 0; n < 3; n++) the.keyMatched('eu', 'signing', 0);
  the.keyMatched('eu', 'signing', 1);
  expect(await the.matches(secret('b'), secret('a'))).toEqual({ 'signing 0': 3, 'signing 1': 1 });
});
