import { expect, it } from 'vitest';
import type { Measurement } from './measure.ts';
import { type Series, spreadOf, tableOf } from './report.ts';

const measured = (cpuMicros: number): Measurement => ({
  requestsPerSecond: 1e6 / cpuMicros,
  cpuMicros,
  p50Ms: 1,
  p99Ms: 2,
  peakRssMb: 100,
  answered: 10,
  stored: 10,
});
const series = (system: string, ...cpu: number[]): Series => ({
  system,
  form: 'plain',
  connections: 128,
  rounds: cpu.map(measured),
});

it('takes the median, of an even number the middle of the two', () => {
  expect(spreadOf([9, 1, 5])).toEqual({ median: 5, min: 1, max: 9 });
  expect(spreadOf([4, 1, 9, 2])).toEqual({ median: 3, min: 1, max: 9 });
  expect(spreadOf([7])).toEqual({ median: 7, min: 7, max: 7 });
});

it('shows each system as a share of the best setting of Redpanda Connect', () => {
  const table = tableOf([series('redpanda', 100), series('redpanda-batched', 50), series('hookline', 30)]);
  const row = table.split('\n').find((line) => line.includes('hookline'));
  const cells = row?.split('│').map((cell) => cell.trim());
  expect(cells?.filter((cell) => /^[0-9.]+$/.test(cell))).toEqual(expect.arrayContaining(['0.60', '1.67']));
});

it('shows each system as a share of those beside it: the median of the shares in each round', () => {
  const table = tableOf([series('naive', 100, 300, 110), series('hookline', 30, 33, 90)]);
  const row = table.split('\n').find((line) => line.includes('hookline'));
  expect(row?.split('│').map((cell) => cell.trim())).toEqual(
    expect.arrayContaining(['33.0 (30.0–90.0)', '0.30']),
  );
});
