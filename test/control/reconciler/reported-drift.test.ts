import { describe, expect, it } from 'vitest';
import { ReportedDrift } from '../../../src/control/reconciler/reported-drift.ts';

const report = (subscriptionId: string, finishedAt: number, errorCode: string | null) => ({
  ref: null,
  subscriptionId,
  finishedAt,
  errorCode,
  message: 'm',
  issuedBy: 'hookline',
});
const openOf = (reported: ReportedDrift) => reported.open().map(({ subscriptionId }) => subscriptionId);

describe('reported drift', () => {
  it('is what was reported last of each subscription, in whatever order the partitions come', () => {
    const reported = new ReportedDrift();
    reported.take(report('a', 5, null));
    reported.take(report('a', 4, 'DRIFT_FOREIGN'));
    reported.take(report('b', 2, 'DRIFT_FOREIGN'));
    reported.take(report('b', 1, null));
    expect([openOf(reported), reported.of('id a')]).toEqual([['b'], undefined]);
    reported.take(report('a', 6, 'DRIFT_FOREIGN'));
    expect(openOf(reported)).toEqual(['b', 'a']);
    expect(reported.nextAt(3)).toBe(7);
  });

  it('keeps little of what has ended: of a provider that lists other subscriptions each time nothing adds up', () => {
    const reported = new ReportedDrift();
    for (let n = 0; n < 30_000; n++) {
      reported.take(report(`s-${n}`, 2 * n, 'DRIFT_FOREIGN'));
      reported.take(report(`s-${n}`, 2 * n + 1, null));
    }
    expect(openOf(reported)).toEqual([]);
    // Of the last ones it is known that they have ended, of the first ones it is not.
    reported.take(report('s-29999', 2 * 29_999, 'DRIFT_FOREIGN'));
    expect(openOf(reported)).toEqual([]);
    reported.take(report('s-0', 0, 'DRIFT_FOREIGN'));
    expect(openOf(reported)).toEqual(['s-0']);
  });
});
