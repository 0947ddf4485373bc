import { describe, expect, it } from 'vitest';
import { carriedSecrets } from '../../../src/control/operations/sealed-keys.ts';
import { type RetiredSecrets, sealSecrets } from '../../../src/subscriptions/subscription-record.ts';
import { create, openControlHarness } from '../../support/control-harness.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { sealingKeysOf } from '../../support/spool-scene.ts';
import { subscriptionRecord } from '../../support/subscription-record.ts';

const LIVE_MS = 1_000;
const KEPT_MS = 10_000;
const sealingKeys = sealingKeysOf('a');
const clock = manualClock();
const retired = { liveMs: LIVE_MS, keptMs: KEPT_MS };

function carriedOver(previous: readonly RetiredSecrets[], own: { signingSecret?: string } = {}) {
  const record = subscriptionRecord({ subscriptionId: 'id', updatedAt: clock.wall() });
  const secrets = { encryptionKey: 'k', ...own, previous };
  const sealed = { ...record, sealedKeys: sealSecrets(sealingKeys, record, secrets) };
  return carriedSecrets({ sealingKeys, clock, retired }, sealed).previous ?? [];
}
const earlier = (n: number, ageMs: number): RetiredSecrets => ({
  subscriptionId: `id-${n}`,
  signingSecret: `s-${n}`,
  encryptionKey: `k-${n}`,
  retiredAt: clock.wall() - ageMs,
});

describe('the keys that a new subscription carries', () => {
  it('are those of its predecessor, also where a file has the signing secret', () => {
    expect(carriedOver([], { signingSecret: 's' })).toEqual([
      { subscriptionId: 'id', signingSecret: 's', encryptionKey: 'k', retiredAt: clock.wall() },
    ]);
    expect(carriedOver([])).toEqual([{ subscriptionId: 'id', encryptionKey: 'k', retiredAt: clock.wall() }]);
  });

  it('open what was verified before for longer than they verify', () => {
    const [, young, old, ...rest] = carriedOver([
      earlier(1, LIVE_MS - 1),
      earlier(2, LIVE_MS + 1),
      earlier(3, KEPT_MS + 1),
    ]);
    expect(young).toMatchObject({ signingSecret: 's-1', encryptionKey: 'k-1' });
    expect(old).toMatchObject({ signingSecret: undefined, encryptionKey: 'k-2' });
    expect(rest).toEqual([]);
  });

  it('are those of one without an encryption key for as long as they verify', () => {
    const withoutOpener = (n: number, ageMs: number) => ({ ...earlier(n, ageMs), encryptionKey: undefined });
    const [, verifying, ...rest] = carriedOver([withoutOpener(1, LIVE_MS - 1), withoutOpener(2, LIVE_MS)]);
    expect(verifying).toMatchObject({ subscriptionId: 'id-1', signingSecret: 's-1' });
    expect(rest).toEqual([]);
  });

  it('are bounded: eight verify, a hundred open', () => {
    const all = carriedOver(Array.from({ length: 200 }, (_, n) => earlier(n, n)));
    expect(all).toHaveLength(100);
    expect(all.filter(({ signingSecret }) => signingSecret !== undefined)).toHaveLength(7);
  });

  it('are kept of a deleted subscription until nothing is left that they open', async () => {
    await using harness = await openControlHarness({
      retiredKeysTtlMs: 0,
      retiredDecryptionKeysTtlMs: 60_000,
    });
    await harness.run(create('a'));
    const { encryptionKey } = harness.secretsOf('a') ?? {};
    await harness.run({ type: 'subscription.delete', ref: 'a' });
    expect(await harness.run({ type: 'subscription.delete', ref: 'a' })).toMatchObject({
      message: 'nothing to delete: it was deleted before',
    });
    expect(harness.secretsOf('a')).toMatchObject({ encryptionKey });
    await harness.run(create('a'));
    expect(harness.secretsOf('a')?.previous).toMatchObject([{ encryptionKey }]);
  });
});
