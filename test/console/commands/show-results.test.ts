import { expect, it } from 'vitest';
import { resultFacts } from '../../../src/console/commands/show-results.ts';
import type { HeldResult } from '../../../src/console/results/held-results.ts';
import { listResult } from '../../support/list-result.ts';

const listing = (held: number, more: number) =>
  String(
    resultFacts({
      ...listResult(held),
      moreSubscriptions: more,
      moreDrift: 0,
    } satisfies HeldResult),
  );

it('says of how many entries of a list it shows the first', () => {
  expect(listing(50, 950)).toContain('50 of 1000 are shown');
  expect(listing(0, 3)).toContain('0 of 3 are shown');
  expect(listing(50, 0)).not.toContain('are shown');
  expect(listing(0, 0)).not.toContain('Subscriptions at the provider');
});

it('names the record of the command as every other text does', () => {
  expect(listing(0, 0)).toContain('<dt>record</dt><dd><code>t[0]@3</code></dd>');
});
