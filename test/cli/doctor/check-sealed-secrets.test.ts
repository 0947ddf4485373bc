import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { assessSecrets } from '../../../src/cli/doctor/check-sealed-secrets.ts';
import { parseSealingKeys, type SealingKeys } from '../../../src/crypto/sealing.ts';
import { sealSecrets } from '../../../src/subscriptions/subscription-record.ts';
import { subscriptionRecord } from '../../support/subscription-record.ts';

const newKeys = () => parseSealingKeys(randomBytes(32)) ?? expect.fail('no key');
const [first, second, gone] = [newKeys(), newKeys(), newKeys()];
const keys = { current: first.current, all: [first.current, second.current] };

const sealedBy = (by: SealingKeys, ref: string) => {
  const record = subscriptionRecord({ ref });
  return { ...record, sealedKeys: sealSecrets(by, record, { signingSecret: 's' }) };
};

describe('the sealed secrets of subscriptions', () => {
  it('are counted, also of records without any', () => {
    const records = [sealedBy(first, 'a'), subscriptionRecord({ ref: 'b' })];
    expect(assessSecrets(keys, records)).toMatchObject([
      { state: 'ok', finding: '2 of 2 ref(s) can be opened' },
    ]);
  });

  it('that need another key than the first are named: that one cannot go yet', () => {
    const records = [sealedBy(first, 'a'), sealedBy(second, 'c'), sealedBy(second, 'b')];
    expect(assessSecrets(keys, records)).toMatchObject([
      { state: 'ok', finding: '3 of 3 ref(s) can be opened; still sealed with an older key: b, c' },
    ]);
  });

  it('that no key opens are a fault each', () => {
    expect(assessSecrets(keys, [sealedBy(gone, 'a'), sealedBy(first, 'b')])).toMatchObject([
      { state: 'ok', finding: '1 of 2 ref(s) can be opened' },
      { check: 'sealed secrets of a', state: 'FAULT' },
    ]);
  });

  it('do not open for another ref', () => {
    const moved = { ...sealedBy(first, 'a'), ref: 'b' };
    expect(assessSecrets(keys, [moved])).toContainEqual(expect.objectContaining({ state: 'FAULT' }));
  });

  it('are listed up to a number', () => {
    const records = Array.from({ length: 22 }, (_, n) => sealedBy(second, `r${n}`));
    expect(assessSecrets(keys, records)).toMatchObject([{ finding: expect.stringMatching(/ and 2 more$/) }]);
  });
});
