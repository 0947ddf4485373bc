import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { AnalyticsFixture, storedBy } from '../../support/analytics-fixture.ts';
import { ROOT } from '../../support/source-tree.ts';
import { until } from '../../support/until.ts';

const PAYMENTS = 5;
const STATUSES = ['RCVD', 'PDNG', 'ACSP', 'ACSC'];

let analytics: AnalyticsFixture;

beforeAll(async () => {
  analytics = await AnalyticsFixture.make(inject('stack'));
});

afterAll(async () => {
  await analytics?.[Symbol.asyncDispose]();
});

/** The life of every payment, each webhook delivered as often as a sender that missed the answer would. */
async function deliverAll(status: string, times: number): Promise<void> {
  for (let payment = 0; payment < PAYMENTS; payment++)
    await analytics.deliver(`p-${payment}`, status, payment, times);
}

describe("the consumer's example, a table of transactions", () => {
  it('has each transaction once, whatever is delivered twice and however often it is killed', async () => {
    const [first = '', second = '', ...later] = STATUSES;
    const killed = analytics.startJob();
    await deliverAll(first, 3);
    await until('all is stored', () => storedBy(killed, 'events') === PAYMENTS, 40_000);
    // What it has read and not committed comes again: to its next life it is as good as a repeat.
    killed.kill('SIGKILL');
    await killed.end();
    await deliverAll(second, 2);
    for (const status of later) await deliverAll(status, 2);

    const job = analytics.startJob();
    const isDone = () => storedBy(killed, 'events') + storedBy(job, 'events') === PAYMENTS * STATUSES.length;
    await until('all is stored', isDone, 60_000).catch((error: Error) => {
      throw new Error(`${error.message}; the job wrote: ${job.written()}`);
    });
    const repeats = storedBy(job, 'repeats');
    await deliverAll('ACSC', 1);
    await until('the late repeats were read', () => storedBy(job, 'repeats') >= repeats + PAYMENTS, 40_000);
    expect(await job.stop()).toBe(0);

    const rows = await analytics.ask(
      'SELECT entityId, txSts, count(*)::INTEGER AS n, count(DISTINCT txIndex)::INTEGER AS indexes FROM transactions GROUP BY ALL',
    );
    const expected = STATUSES.flatMap((txSts) =>
      // The payment p-0 has no transactions.
      [1, 2, 3, 4].map((n) => ({ entityId: `p-${n}`, txSts, n, indexes: n })),
    );
    expect(rows).toHaveLength(expected.length);
    expect(rows).toEqual(expect.arrayContaining(expected));
  }, 120_000);

  it('is summed up by the query', async () => {
    const query = join(ROOT, 'deploy/examples/analytics/query.ts');
    const { stdout } = await promisify(execFile)(process.execPath, [query, analytics.file]);
    expect(stdout).toContain(`${10 * STATUSES.length} transactions of ${PAYMENTS * STATUSES.length} events`);
    expect(stdout).toMatch(/│ hour \(UTC\) +│ ACSC │ ACSP │ PDNG │ RCVD │ all │/);
    expect(stdout).toMatch(/│ SBXADEFFXXX +│ 4 +│ 4 +│ 4 +│ 4 +│ 16 +│/);
  });

  it('has the payments of one subscription where several receive them, so that none is counted twice', async () => {
    analytics.addSubscription('ledger-us');
    const deliver = () => analytics.deliver('p-both', 'ACSC', 1, 1, 'ledger-us').then(() => true);
    await until('its keys are known', () => deliver().catch(() => false), 10_000);
    await analytics.deliver('p-both', 'ACSC', 1);
    const job = analytics.startJob({
      SUBSCRIPTION: 'ledger-us',
      EXIT_AT_END: 'true',
      GROUP_ID: 'analytics-of-one-subscription',
      ANALYTICS_FILE: `${analytics.file}-us`,
    });
    expect(await job.end()).toBe(0);
    expect(storedBy(job, 'events')).toBe(1);
    expect(job.lines.some(({ msg }) => msg === 'unreadable')).toBe(false);
  });
});
