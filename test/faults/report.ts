import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import Table from 'cli-table3';
import { faultsOf } from './oracle/judge.ts';
import type { Outcome } from './outcome.ts';

const HEAD = [
  'schedule',
  'system',
  'acked',
  'lost',
  'duplicates',
  'out of order',
  'longest answer',
  '200s in faults',
  'ack p50/p99',
  'from the spool',
  'fresh again after',
  'drained after',
];

/** A row per schedule and system, and a row of sums per system. */
export function tableOf(outcomes: readonly Outcome[]): string {
  const table = new Table({ head: HEAD, style: { head: [], border: [] } });
  for (const outcome of outcomes) table.push(rowOf(outcome));
  for (const system of new Set(outcomes.map((outcome) => outcome.system))) {
    table.push(sumRow(outcomes.filter((outcome) => outcome.system === system)));
  }
  return table.toString();
}

function rowOf({ schedule, system, verdict, recoveredAfterMs, drainedAfterMs }: Outcome): string[] {
  const { acked, lost, duplicates, orderViolations, longestAnswerMs, okInFaults } = verdict;
  const { calmP50, calmP99, spooled, spoolP50, spoolP99 } = verdict;
  return [
    schedule,
    system,
    ...[acked, lost, duplicates, orderViolations].map(count),
    seconds(longestAnswerMs),
    okInFaults === null ? '' : `${(okInFaults * 100).toFixed(1)} %`,
    `${millis(calmP50)}/${millis(calmP99)}`,
    spooled > 0 ? `${millis(spoolP50)}/${millis(spoolP99)}` : '',
    inTime(recoveredAfterMs),
    drainedAfterMs === undefined ? '' : inTime(drainedAfterMs),
  ];
}

function sumRow(outcomes: readonly Outcome[]): string[] {
  const sum = (name: 'acked' | 'lost' | 'duplicates' | 'orderViolations') =>
    count(outcomes.reduce((total, { verdict }) => total + verdict[name], 0));
  const longest = Math.max(...outcomes.map(({ verdict }) => verdict.longestAnswerMs));
  return [
    'all',
    outcomes[0]?.system ?? '',
    ...[sum('acked'), sum('lost'), sum('duplicates'), sum('orderViolations')],
    ...[seconds(longest), '', '', '', '', ''],
  ];
}

const inTime = (ms: number | null) => (ms === null ? 'not in time' : seconds(ms));
const count = (value: number) => value.toLocaleString('en');
const millis = (ms: number) => `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;

/** What Hookline must never show, one line per schedule that showed it; empty where all is well. */
export function brokenPromises(outcomes: readonly Outcome[]): string[] {
  return outcomes
    .filter(({ system }) => system === 'hookline')
    .flatMap(({ schedule, seed, verdict, ...rest }) => {
      const { recoveredAfterMs, drainedAfterMs, mustTakeAll } = rest;
      const faults = faultsOf(verdict);
      if (recoveredAfterMs === null) faults.push('fresh events do not pass after the faults');
      if (drainedAfterMs === null) faults.push('the spool is not drained');
      if (mustTakeAll && verdict.okInFaults !== null && verdict.okInFaults < 1) {
        faults.push('not every webhook was answered 200');
      }
      return faults.length > 0 ? [`${schedule}, seed ${seed}: ${faults.join(', ')}`] : [];
    });
}

/** Everything that the run knows, for other programs. */
export function writeReport(path: string, report: Readonly<Record<string, unknown>>): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${JSON.stringify(report, null, 2)}\n`);
}
