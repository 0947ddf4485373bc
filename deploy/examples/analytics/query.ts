/**
 * Prints a summary of the table: `node deploy/examples/analytics/query.ts [analytics.duckdb]`. DuckDB gives a file to one process
 * at a time: run it when the job has ended.
 */
import Table from 'cli-table3';
import { type Count, pivot, statusPerAgent, statusPerHour } from './summary.ts';
import { TransactionTable } from './transaction-table.ts';

const file = process.argv[2] ?? 'analytics.duckdb';
const print = (text: string) => process.stdout.write(`${text}\n`);

function show(title: string, counts: readonly Count[]): void {
  const { statuses, rows } = pivot(counts);
  const table = new Table({ head: [title, ...statuses, 'all'], style: { head: [], border: [] } });
  for (const { of, counts } of rows) table.push([of, ...counts, counts.reduce((sum, one) => sum + one, 0)]);
  print(table.toString());
}

await using table = await TransactionTable.open(file, { readOnly: true });
const [totals] = await table.query(
  'SELECT count(*) AS events, coalesce(sum(transactions), 0)::BIGINT AS transactions FROM events',
);
print(`${totals?.transactions} transactions of ${totals?.events} events in ${file}`);
show('hour (UTC)', await statusPerHour(table));
show('instructing agent', await statusPerAgent(table));
