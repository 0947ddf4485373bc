import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { TransactionTable } from '../../../deploy/examples/analytics/transaction-table.ts';
import { type RunningStore, startS3Mock } from '../../support/object-store/s3-bucket.ts';
import { ReceiverFixture } from '../../support/receiver-fixture.ts';
import type { RunningProcess } from '../../support/running-process.ts';
import { postSigned } from '../../support/sign.ts';
import { ROOT } from '../../support/source-tree.ts';
import { until } from '../../support/until.ts';

const PAYMENTS = 5;
const STATUSES = ['RCVD', 'PDNG', 'ACSP', 'ACSC'];
const LONG_LIST = 170_000;
/** Of the heap, in MiB: a message of 45 MB and its transactions as objects are in it. */
const HEAP_MIB = 384;

let store: RunningStore;
let receiver: ReceiverFixture;
let file: string;

beforeAll(async () => {
  store = await startS3Mock();
  receiver = await ReceiverFixture.make(
    { brokers: inject('brokers'), registryUrl: inject('registryUrl') },
    store.env,
  );
  file = join(receiver.fixture.dir, 'analytics.duckdb');
}, 240_000);

afterAll(async () => {
  await receiver?.[Symbol.asyncDispose]();
  await store?.[Symbol.asyncDispose]();
});

const start = (env: Record<string, string> = {}) =>
  receiver.fixture.start('deploy/examples/analytics/main.ts', {
    ...store.env,
    TOPIC: receiver.fixture.topic('payment-status'),
    GROUP_ID: `${receiver.fixture.prefix}-analytics`,
    ANALYTICS_FILE: file,
    NODE_OPTIONS: `--max-old-space-size=${HEAP_MIB}`,
    ...env,
  });

const transactionOf = (index: number, TxSts: string) => ({
  OrgnlGrpInf: { OrgnlMsgId: 'OM-1', OrgnlMsgNmId: 'pacs.008.001.08' },
  ...{
    OrgnlInstrId: `IN-${index}`,
    OrgnlUETR: `0b9f6a52-3f0e-4d43-9d5e-${String(index).padStart(12, '0')}`,
    TxSts,
  },
  InstgAgt: { FinInstnId: { BICFI: index % 2 ? 'SBXADEFFXXX' : 'SBXBNL2AXXX' } },
  InstdAgt: { FinInstnId: { BICFI: 'SBXCFRPPXXX' } },
});

async function deliver(entityId: string, status: string, transactions: number, times = 1): Promise<void> {
  const TxInfAndSts = Array.from({ length: transactions }, (_, index) => transactionOf(index, status));
  const pacs002 = { FIToFIPmtStsRpt: { GrpHdr: { MsgId: 'm' }, TxInfAndSts } };
  const body = JSON.stringify({ type: 'payment-status', entityId, payload: { status, pacs002 } });
  for (let time = 0; time < times; time++) {
    const { text } = await postSigned(`${receiver.ingress.url}/webhooks/ledger-eu`, receiver, body);
    expect(text).toContain('"stored":"kafka"');
  }
}

/** The life of every payment, each webhook delivered as often as a sender that missed the answer would. */
async function deliverAll(status: string, times: number): Promise<void> {
  for (let payment = 0; payment < PAYMENTS; payment++) await deliver(`p-${payment}`, status, payment, times);
}

const storedBy = (job: RunningProcess, what: 'events' | 'repeats') =>
  job.lines.filter(({ msg }) => msg === 'stored').reduce((sum, line) => sum + Number(line[what]), 0);

async function ask(sql: string) {
  await using table = await TransactionTable.open(file, { readOnly: true });
  return await table.query(sql);
}

/** Peak of the process's memory in MiB, as Linux counts it. */
const peakMiB = (job: RunningProcess) =>
  Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${job.pid}/status`, 'utf8'))?.[1]) / 1024;

describe("the consumer's example, a table of transactions", () => {
  it('has each transaction once, whatever is delivered twice and however often it is killed', async () => {
    const [first = '', second = '', ...later] = STATUSES;
    const killed = start();
    await deliverAll(first, 3);
    await until('all is stored', () => storedBy(killed, 'events') === PAYMENTS, 40_000);
    // What it has read and not committed comes again: to its next life it is as good as a repeat.
    killed.kill('SIGKILL');
    await killed.end();
    await deliverAll(second, 2);
    for (const status of later) await deliverAll(status, 2);

    const job = start();
    const isDone = () => storedBy(killed, 'events') + storedBy(job, 'events') === PAYMENTS * STATUSES.length;
    await until('all is stored', isDone, 60_000).catch((error: Error) => {
      throw new Error(`${error.message}; the job wrote: ${job.written()}`);
    });
    const repeats = storedBy(job, 'repeats');
    await deliverAll('ACSC', 1);
    await until('the late repeats were read', () => storedBy(job, 'repeats') >= repeats + PAYMENTS, 40_000);
    expect(await job.stop()).toBe(0);

    const rows = await ask(
      'SELECT entityId, txSts, count(*)::INTEGER AS n, count(DISTINCT txIndex)::INTEGER AS indexes FROM transactions GROUP BY ALL',
    );
    const expected = STATUSES.flatMap((txSts) =>
      // The payment p-0 has no transactions.
      [1, 2, 3, 4].map((n) => ({ entityId: `p-${n}`, txSts, n, indexes: n })),
    );
    expect(rows).toHaveLength(expected.length);
    expect(rows).toEqual(expect.arrayContaining(expected));
  }, 120_000);

  it('takes a list of 170,000 transactions from the object store, once, and ends at the end of the topic', async () => {
    await deliver('p-long', 'ACCC', LONG_LIST);
    await deliver('p-after', 'ACCC', 1);
    const job = start({ EXIT_AT_END: 'true' });
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
    const [row] = await ask(
      `SELECT count(*)::INTEGER AS n, count(DISTINCT orgnlUETR)::INTEGER AS transactions, min(txIndex) AS first,
         max(txIndex) AS last, count(DISTINCT instgAgtBic)::INTEGER AS agents FROM transactions WHERE entityId = 'p-long'`,
    );
    expect(row).toEqual({ n: LONG_LIST, transactions: LONG_LIST, first: 0, last: LONG_LIST - 1, agents: 2 });
    expect(await ask("SELECT count(*)::INTEGER AS n FROM transactions WHERE entityId = 'p-after'")).toEqual([
      { n: 1 },
    ]);

    // A run that finds nothing new ends as well.
    const again = start({ EXIT_AT_END: 'true' });
    expect(await again.end()).toBe(0);
    expect(storedBy(again, 'events')).toBe(0);
  }, 180_000);

  it('is summed up by the query', async () => {
    const query = join(ROOT, 'deploy/examples/analytics/query.ts');
    const { stdout } = await promisify(execFile)(process.execPath, [query, file]);
    expect(stdout).toContain(
      `${10 * STATUSES.length + LONG_LIST + 1} transactions of ${PAYMENTS * STATUSES.length + 2} events`,
    );
    expect(stdout).toMatch(/│ hour \(UTC\) +│ ACCC +│/);
    expect(stdout).toMatch(/│ SBXADEFFXXX +│ 85000 +│/);
  });
});
