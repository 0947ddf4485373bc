/**
 * Draws the table's charts: `node deploy/examples/analytics/render-charts.ts FOLDER [analytics.duckdb]`, without a file from two
 * made-up days.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { barChart, columnChart } from './charts.ts';
import { demoEvents } from './demo-events.ts';
import { pivot, statusPerAgent, statusPerHour } from './summary.ts';
import { TransactionTable } from './transaction-table.ts';

/** The charts of a table by their files' names. */
export async function chartsOf(table: TransactionTable): Promise<Record<string, string>> {
  return {
    'analytics-per-hour.svg': columnChart({
      title: 'Transactions per hour (UTC), by status',
      about: 'Columns, one for each hour, with the number of transactions of each status.',
      series: pivot(await statusPerHour(table)),
    }),
    'analytics-per-agent.svg': barChart({
      title: 'Transactions per instructing agent, by status',
      about:
        'Bars, one for each agent, with the number of transactions of each status and the share that was rejected.',
      series: pivot(await statusPerAgent(table)),
    }),
  };
}

/** The charts of the two made-up days. */
export async function demoCharts(): Promise<Record<string, string>> {
  await using table = await TransactionTable.open(':memory:');
  await table.store(demoEvents());
  return await chartsOf(table);
}

async function chartsIn(file: string): Promise<Record<string, string>> {
  await using table = await TransactionTable.open(file, { readOnly: true });
  return await chartsOf(table);
}

if (import.meta.main) {
  const [folder = '.', file] = process.argv.slice(2);
  mkdirSync(folder, { recursive: true });
  const charts = file === undefined ? await demoCharts() : await chartsIn(file);
  for (const [name, svg] of Object.entries(charts)) writeFileSync(join(folder, name), svg);
}
