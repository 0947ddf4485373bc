import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { AnalyticsFixture, storedBy } from '../../support/analytics-fixture.ts';
import { type RunningStore, startS3Mock } from '../../support/object-store/s3-bucket.ts';
import type { RunningProcess } from '../../support/running-process.ts';
import { until } from '../../support/until.ts';

const LONG_LIST = 170_000;

let store: RunningStore;
let analytics: AnalyticsFixture;

beforeAll(async () => {
  store = await startS3Mock();
  const stack = inject('stack');
  analytics = await AnalyticsFixture.make(stack, store.env);
}, 240_000);

afterAll(async () => {
  await analytics?.[Symbol.asyncDispose]();
  await store?.[Symbol.asyncDispose]();
});

/** Peak of the process's memory in MiB, as Linux counts it. */
const peakMiB = (job: RunningProcess) =>
  Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${job.pid}/status`, 'utf8'))?.[1]) / 1024;

describe("the consumer's example, a table of transactions", () => {
  it('takes a list of 170,000 transactions from the object store, once, and ends at the end of the topic', async () => {
    await analytics.deliver('p-long', 'ACCC', LONG_LIST);
    await analytics.deliver('p-after', 'ACCC', 1);
    const job = analytics.startJob({ EXIT_AT_END: 'true' });
    let peak = 0;
    await until(
      'the list is stored',
      () => {
        if (job.exitCode !== null) return true;
        peak = Math.max(peak, peakMiB(job) || 0);
        return false;
      },
      90_000,
    );
    expect(job.exitCode, job.written()).toBe(0);
    expect(peak).toBeLessThan(750);
    const [row] = await analytics.ask(
      `SELECT count(*)::INTEGER AS n, count(DISTINCT orgnlUETR)::INTEGER AS transactions, min(txIndex) AS first,
         max(txIndex) AS last, count(DISTINCT instgAgtBic)::INTEGER AS agents FROM transactions WHERE entityId = 'p-long'`,
    );
    expect(row).toEqual({ n: LONG_LIST, transactions: LONG_LIST, first: 0, last: LONG_LIST - 1, agents: 2 });
    expect(
      await analytics.ask("SELECT count(*)::INTEGER AS n FROM transactions WHERE entityId = 'p-after'"),
    ).toEqual([{ n: 1 }]);

    // A run that finds nothing new ends as well.
    const again = analytics.startJob({ EXIT_AT_END: 'true' });
    expect(await again.end()).toBe(0);
    expect(storedBy(again, 'events')).toBe(0);
  }, 180_000);
});
