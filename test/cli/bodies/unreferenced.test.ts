import { describe, expect, it } from 'vitest';
import type { Listing } from '../../../src/cli/bodies/compare-objects.ts';
import type { References } from '../../../src/cli/bodies/read-references.ts';
import { describeOrphans, describeOthers, findUnreferenced } from '../../../src/cli/bodies/unreferenced.ts';

const TOPICS = ['payments.payment-status', 'payments.dead-letter'];

/** What is found of the keys, of which records refer to those of `referred`. */
function find(prefix: string, keys: readonly string[], referred: readonly string[] = []) {
  const uriOf = (key: string) => `s3://events/${key}`;
  const listing: Listing = new Map(
    keys.map((key) => [uriOf(key), { key, bytes: 2, modifiedAt: new Date(0) }]),
  );
  const reference = (uri: string) => ({ reference: { uri, bytes: 2, sha256: '' }, at: 't[0]@0' });
  const references: References = new Map(referred.map((key) => [uriOf(key), reference(uriOf(key))]));
  const { orphans, others } = findUnreferenced(listing, references, { bucket: 'events', prefix }, TOPICS);
  return { orphans: orphans.map(({ key }) => key), others: Object.fromEntries(others) };
}

describe('objects that no record refers to', () => {
  it('are orphans only below the folders of topics that were read', () => {
    const own = 'hookline/payments.payment-status/2026/11/29';
    const keys = [
      ...[`${own}/a.json`, `${own}/b.json`, 'hookline/payments.dead-letter/2026/11/29/c.bin'],
      ...['hookline/ledger.payment-status/2026/11/29/d.json', 'hookline/ledger.dead-letter/2026/e.bin'],
      // Of a release whose prefix is below this one, of a type whose schema file is gone, and of nobody.
      ...['hookline/b/payments.payment-status/f.json', 'hookline/payments.refund/g.json', 'hookline/h.json'],
      'hookline/payments.payment-status',
    ];
    expect(find('hookline', keys, [`${own}/a.json`])).toEqual({
      orphans: [`${own}/b.json`, 'hookline/payments.dead-letter/2026/11/29/c.bin'],
      others: { 'ledger.payment-status': 1, 'ledger.dead-letter': 1, b: 1, 'payments.refund': 1, '': 2 },
    });
  });

  it('are found at the root of a bucket, too', () => {
    const keys = ['payments.payment-status/a.json', 'ledger.payment-status/b.json'];
    expect(find('', keys)).toEqual({
      orphans: ['payments.payment-status/a.json'],
      others: { 'ledger.payment-status': 1 },
    });
  });

  it('are called harmless, unless their records may still come', () => {
    const object = (ms: number) => ({ key: 'k', bytes: 2, modifiedAt: new Date(ms) });
    const harmless = '2 that no record refers to (4 bytes): harmless, a lifecycle rule may delete them';
    expect(describeOrphans([object(0), object(0)], 3_600_000)).toBe(harmless);
    expect(describeOrphans([object(0), object(3_600_000)], 3_600_000)).toBe(
      `${harmless}; 1 of them are younger than 10 minutes, and their records may still come`,
    );
  });

  it('are to be kept where the topics of their folder were not read', () => {
    expect(describeOthers(new Map())).toBeNull();
    expect(describeOthers(new Map([['ledger.payment-status', 9]]))).toMatch(
      /^9 objects are of topics that were not read, .* keep them\. .*: 9 in ledger\.payment-status\.$/,
    );
    const many = new Map(Array.from({ length: 12 }, (_, n) => [`topic-${n}`, 1] as const));
    expect(describeOthers(many)).toMatch(/, 1 in topic-9, and 2 more folders\.$/);
  });
});
