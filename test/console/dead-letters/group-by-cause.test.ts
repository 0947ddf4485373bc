import { expect, it } from 'vitest';
import { groupByCause, openIn } from '../../../src/console/dead-letters/group-by-cause.ts';
import { deadLetter } from '../../support/dead-letter.ts';

const HOUR = 3_600_000;
const NOW = 1_000 * HOUR;
const written = (hoursAgo: number, more: Parameters<typeof deadLetter>[0] = {}) =>
  deadLetter({ time: NOW - hoursAgo * HOUR, ...more });

it('groups by stage, code and ref, those with most that is open first', () => {
  const groups = groupByCause(
    [
      written(0.5, { stage: 'PARSE', redriven: true }),
      written(2, { ref: 'us' }),
      written(3, { ref: 'us' }),
      written(30, { ref: 'us', missing: [2] }),
      written(1),
    ],
    NOW,
  );
  expect(groups.map(({ stage, ref }) => `${stage} ${ref}`)).toEqual([
    'DECRYPT us',
    'DECRYPT ledger-eu',
    'PARSE ledger-eu',
  ]);
  expect(groups[0]).toMatchObject({
    code: 'UNDECRYPTABLE',
    states: { open: 2, incomplete: 1, redriven: 0, dismissed: 0 },
    oldestAt: NOW - 30 * HOUR,
    latestAt: NOW - 2 * HOUR,
    hour: 0,
    day: 2,
    week: 3,
  });
  expect(groups.map(openIn)).toEqual([3, 1, 0]);
  expect(groups[2]).toMatchObject({ oldestAt: null, hour: 1 });
});

it('has a group for what Hookline did not write', () => {
  const madeUp = { '__connect.errors.stage': 'KEY_CONVERTER', '__connect.errors.code': 'X,Y' };
  const groups = groupByCause(
    [{}, madeUp].map((headers) => ({ ...written(1), headers })),
    NOW,
  );
  expect(groups).toMatchObject([{ stage: 'FOREIGN', code: null, ref: null, states: { open: 2 } }]);
});
