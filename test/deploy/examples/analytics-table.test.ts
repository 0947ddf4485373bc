import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { demoEvents } from '../../../deploy/examples/analytics/demo-events.ts';
import type { StatusEvent } from '../../../deploy/examples/analytics/read-event.ts';
import { pivot, statusPerAgent, statusPerHour } from '../../../deploy/examples/analytics/summary.ts';
import { TransactionTable } from '../../../deploy/examples/analytics/transaction-table.ts';
import { readDocument, sectionOf, tableRows } from '../../support/documents.ts';
import { ROOT } from '../../support/source-tree.ts';

// A database is opened in each: seconds where others take the processor.
vi.setConfig({ testTimeout: 120_000 });
const dir = mkdtempSync(join(tmpdir(), 'analytics-'));
afterAll(() => rmSync(dir, { recursive: true }));

const idOf = (n: number) => `00000000-0000-8000-8000-${String(n).padStart(12, '0')}`;
const entryOf = (txSts: string, bic = 'SBXADEFFXXX') => ({
  OrgnlGrpInf: { OrgnlMsgId: 'm', OrgnlMsgNmId: 'pacs.008.001.08' },
  OrgnlInstrId: 'i',
  OrgnlUETR: 'u',
  TxSts: txSts,
  InstgAgt: { FinInstnId: { BICFI: bic } },
  InstdAgt: { FinInstnId: { BICFI: 'SBXBNL2AXXX' } },
});
const eventOf = (
  n: number,
  transactions: readonly unknown[],
  createdAt: number | null = null,
): StatusEvent => ({
  eventId: idOf(n),
  entityId: `p-${n}`,
  ref: 'analytics',
  receivedAt: Date.UTC(2026, 0, 5, 10, n),
  status: 'ACCC',
  transactions,
  createdAt,
});
const rowsOf = (table: TransactionTable) =>
  table.query(
    'SELECT * EXCLUDE (receivedAt, createdAt), epoch_ms(receivedAt::TIMESTAMP) AS receivedAt FROM transactions ORDER BY eventId, txIndex',
  );
/** The query of the documentation that gives each transaction's latest status. */
function latestQuery(): string {
  const [, query = ''] = readDocument('docs/analytics.md')
    .blocks.filter(({ language }) => language === 'sql')
    .flatMap(({ text }) => text.split(';\n'));
  return query;
}

describe('the table of transactions', () => {
  it('has a row for each entry, with what an entry has; null for what it has not', async () => {
    await using table = await TransactionTable.open(':memory:');
    const odd = { TxSts: 7, InstgAgt: null, OrgnlGrpInf: 'no object' };
    const stored = await table.store([eventOf(1, [entryOf('ACSC'), odd, 'no object', null]), eventOf(2, [])]);
    expect(stored).toEqual({ events: 2, repeats: 0, transactions: 4 });
    const [first, ...others] = await rowsOf(table);
    expect(first).toMatchObject({
      entityId: 'p-1',
      ref: 'analytics',
      status: 'ACCC',
      txIndex: 0,
      txSts: 'ACSC',
      orgnlMsgId: 'm',
      orgnlMsgNmId: 'pacs.008.001.08',
      orgnlInstrId: 'i',
      orgnlUETR: 'u',
      instgAgtBic: 'SBXADEFFXXX',
      instdAgtBic: 'SBXBNL2AXXX',
      receivedAt: BigInt(Date.UTC(2026, 0, 5, 10, 1)),
    });
    expect(String(first?.eventId)).toBe(idOf(1));
    expect(
      others.map(({ txIndex, txSts, orgnlMsgId, instgAgtBic }) => [txIndex, txSts, orgnlMsgId, instgAgtBic]),
    ).toEqual([1, 2, 3].map((index) => [index, null, null, null]));
    expect(await table.query('SELECT transactions FROM events ORDER BY eventId')).toEqual([
      { transactions: 4 },
      { transactions: 0 },
    ]);
  });

  it('has an event once, whether it comes again in its batch, later, or after a restart', async () => {
    const file = join(dir, 'repeats.duckdb');
    const event = eventOf(1, [entryOf('ACSC')]);
    {
      await using table = await TransactionTable.open(file);
      expect(await table.store([event, event])).toEqual({ events: 1, repeats: 1, transactions: 1 });
      expect(await table.store([event])).toEqual({ events: 0, repeats: 1, transactions: 0 });
    }
    await using table = await TransactionTable.open(file);
    expect(await table.store([event, eventOf(2, [])])).toEqual({ events: 1, repeats: 1, transactions: 0 });
    expect(await rowsOf(table)).toHaveLength(1);
  });

  it('has nothing of a batch that could not be read to its end, and all of it the next time', async () => {
    await using table = await TransactionTable.open(':memory:');
    const many = Array.from({ length: 25_000 }, () => entryOf('ACSC'));
    const failing = async function* () {
      yield eventOf(1, many);
      throw new Error('the object store does not answer');
    };
    await expect(table.store(failing())).rejects.toThrow('the object store does not answer');
    expect(await rowsOf(table)).toEqual([]);
    expect(await table.store([eventOf(1, many)])).toEqual({ events: 1, repeats: 0, transactions: 25_000 });
    expect(await rowsOf(table)).toHaveLength(25_000);
  });

  it('says which statement failed', async () => {
    await using table = await TransactionTable.open(':memory:');
    const broken = { ...eventOf(2, []), ref: null as never };
    await expect(table.store([eventOf(1, [entryOf('ACSC')]), broken])).rejects.toThrow('NOT NULL');
    expect(await rowsOf(table)).toEqual([]);
  });

  it('answers the queries of the documentation', async () => {
    await using table = await TransactionTable.open(':memory:');
    await table.store(demoEvents());
    const [sql = ''] = readDocument('docs/analytics.md')
      .blocks.filter(({ language }) => language === 'sql')
      .map(({ text }) => text.replace("'transactions.parquet'", `'${join(dir, 'transactions.parquet')}'`));
    const [rejected, latest, copied, deleted] = await Promise.all(
      sql
        .trimEnd()
        .split(';\n')
        .map((one) => table.query(one)),
    );
    expect(rejected?.length).toBe(5);
    // The made-up transactions have no UETR.
    expect(latest).toEqual([]);
    expect(Number(copied?.[0]?.Count)).toBe(5_877);
    expect(Number(deleted?.[0]?.Count)).toBeGreaterThanOrEqual(0);
  });

  it('has the latest status by the query of the documentation, also when an earlier one was received behind it', async () => {
    await using table = await TransactionTable.open(':memory:');
    const at = (minute: number) => Date.UTC(2026, 0, 5, 9, minute);
    await table.store([
      eventOf(1, [entryOf('PDNG')], at(1)),
      eventOf(2, [entryOf('ACSC')], at(3)),
      eventOf(3, [entryOf('ACSP')], at(2)),
    ]);
    expect(await table.query(latestQuery())).toEqual([{ orgnlUETR: 'u', latest: 'ACSC' }]);
  });

  it.each([
    ['one that is not final is of the same time', ['PDNG', 'ACSC'], [3, 3]],
    ['one that is not final is later', ['ACSC', 'PDNG'], [3, 4]],
    ['another final one of the same time is received later', ['ACSC', 'RJCT'], [3, 3]],
  ])(
    'has the final status by that query, as docs/consuming.md asks, where %s',
    async (_, statuses, minutes) => {
      await using table = await TransactionTable.open(':memory:');
      const at = (minute: number) => Date.UTC(2026, 0, 5, 9, minute);
      const { OrgnlUETR, ...unnamed } = entryOf('ACSC');
      await table.store([
        ...statuses.map((status, n) => eventOf(n, [entryOf(status)], at(minutes[n] ?? 0))),
        eventOf(9, [unnamed]),
      ]);
      const latest = statuses.findLast((status) => status !== 'PDNG');
      expect(await table.query(latestQuery())).toEqual([{ orgnlUETR: OrgnlUETR, latest }]);
    },
  );

  it('has the columns that the documentation names', async () => {
    await using table = await TransactionTable.open(':memory:');
    const rows = tableRows(sectionOf(readDocument('docs/analytics.md'), '## The tables'));
    for (const [name = '', , columns = ''] of rows) {
      const found = await table.query(`SELECT column_name FROM (DESCRIBE ${name.replaceAll('`', '')})`);
      expect([...columns.matchAll(/`(\w+)`/g)].map(([, column]) => column)).toEqual(
        found.map(({ column_name }) => column_name),
      );
    }
  });

  it('takes lists of any length in the memory of a small process', async () => {
    const script = `
      import { TransactionTable } from './deploy/examples/analytics/transaction-table.ts';
      const entry = ${JSON.stringify(entryOf('ACSC'))};
      await using table = await TransactionTable.open(process.argv[1]);
      for (let n = 1; n <= 4; n++)
        await table.store([{ ...${JSON.stringify(eventOf(0, []))}, eventId: ${JSON.stringify(idOf(0))}.slice(0, -1) + n, transactions: Array(170_000).fill(entry) }]);
      const [{ rows }] = await table.query('SELECT count(*)::INTEGER AS rows FROM transactions');
      console.log(JSON.stringify({ rows, peakMiB: Math.round(process.resourceUsage().maxRSS / 1024) }));`;
    const args = ['--input-type=module', '--eval', script, join(dir, 'long.duckdb')];
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: ROOT });
    const { rows, peakMiB } = JSON.parse(stdout);
    expect(rows).toBe(680_000);
    // 110 MiB are Node and DuckDB themselves, and four lists take hardly more than one.
    expect(peakMiB).toBeLessThan(400);
  }, 60_000);

  it('is summed up by hour and by agent', async () => {
    await using table = await TransactionTable.open(':memory:');
    await table.store([
      eventOf(1, [entryOf('ACSC'), entryOf('RJCT', 'SBXCFRPPXXX')]),
      eventOf(61, [entryOf('ACSC'), {}]),
    ]);
    expect(pivot(await statusPerHour(table))).toEqual({
      statuses: ['ACSC', 'none', 'RJCT'],
      rows: [
        { of: '2026-01-05 10:00', counts: [1, 0, 1] },
        { of: '2026-01-05 11:00', counts: [1, 1, 0] },
      ],
    });
    expect(pivot(await statusPerAgent(table)).rows).toEqual([
      { of: 'SBXADEFFXXX', counts: [2, 0, 0] },
      { of: 'SBXCFRPPXXX', counts: [0, 0, 1] },
      { of: 'unknown', counts: [0, 1, 0] },
    ]);
  });
});
