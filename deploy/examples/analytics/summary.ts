import type { TransactionTable } from './transaction-table.ts';

/** How many transactions have a status, in an hour or of an agent. */
export type Count = { readonly of: string; readonly status: string; readonly transactions: number };

/** By the hour of their receipt (UTC) and their status; hours without any are left out. */
export const statusPerHour = (table: TransactionTable): Promise<Count[]> =>
  countBy(table, "strftime(date_trunc('hour', receivedAt), '%Y-%m-%d %H:00')");

/** By the instructing agent and the status. */
export const statusPerAgent = (table: TransactionTable): Promise<Count[]> =>
  countBy(table, "coalesce(instgAgtBic, 'unknown')");

async function countBy(table: TransactionTable, expression: string): Promise<Count[]> {
  const rows = await table.query(
    `SELECT ${expression} AS of, coalesce(txSts, 'none') AS status, count(*)::INTEGER AS transactions
     FROM transactions GROUP BY ALL ORDER BY ALL`,
  );
  return rows.map(({ of, status, transactions }) => ({
    of: String(of),
    status: String(status),
    transactions: Number(transactions),
  }));
}

/** A row for each hour or agent, a column for each status, those that come most first. */
export function pivot(counts: readonly Count[]): {
  statuses: string[];
  rows: { of: string; counts: number[] }[];
} {
  const totals = new Map<string, number>();
  for (const { status, transactions } of counts) totals.set(status, (totals.get(status) ?? 0) + transactions);
  const statuses = [...totals]
    .toSorted(([a, m], [b, n]) => n - m || a.localeCompare(b))
    .map(([status]) => status);
  const rows = Map.groupBy(counts, ({ of }) => of);
  return {
    statuses,
    rows: [...rows].map(([of, cells]) => ({
      of,
      counts: statuses.map((status) => cells.find((cell) => cell.status === status)?.transactions ?? 0),
    })),
  };
}
