import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Table from 'cli-table3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ROOT } from '../support/source-tree.ts';
import { CASES } from './control/cases.ts';
import { type ControlKit, openControlKit } from './control/control-kit.ts';
import { CrashPoints, type Row } from './control/crash-points.ts';

/** `make control-faults`: control dies before and after every request of a command's flow, and another takes its place. */
let kit: ControlKit;
let crashes: CrashPoints;
const rows: Row[] = [];

beforeAll(async () => {
  kit = await openControlKit();
  crashes = new CrashPoints(kit);
});

afterAll(async () => {
  const table = new Table({
    head: ['command', 'killed', 'subscriptions', 'results', 'state', 'wrong'],
    style: { head: [], border: [] },
  });
  for (const { command, point, subscriptions, results, state, wrong } of rows)
    table.push([command, point, subscriptions, results, state, wrong.join(', ')]);
  console.log(
    `${table}\n${rows.length} points, ${rows.filter(({ wrong }) => wrong.length > 0).length} wrong`,
  );
  mkdirSync(join(ROOT, '.local/faults'), { recursive: true });
  writeFileSync(join(ROOT, '.local/faults/control-crash-points.json'), JSON.stringify(rows, null, 2));
  await crashes?.[Symbol.asyncDispose]();
  await kit?.[Symbol.asyncDispose]();
});

describe('a control process that is killed at any point leaves one truthful result, and a true state:', () => {
  it.each(CASES)('$name', { timeout: 900_000 }, async (one) => {
    const of = await crashes.run(
      one,
      () => true,
      (row) => void rows.push(row),
    );
    expect(of.filter(({ wrong }) => wrong.length > 0)).toEqual([]);
    expect(of.length).toBeGreaterThanOrEqual(12);
  });
});
