import Table from 'cli-table3';
import type { Form } from './load/bodies.ts';
import type { Measurement } from './measure.ts';

/** All rounds of one system under one kind of load. */
export type Series = {
  readonly system: string;
  readonly form: Form;
  readonly connections: number;
  readonly rounds: readonly Measurement[];
};

export type Spread = { readonly median: number; readonly min: number; readonly max: number };

type Figure = 'requestsPerSecond' | 'cpuMicros' | 'p50Ms' | 'p99Ms' | 'peakRssMb';

export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const [low = Number.NaN, high = Number.NaN] = [sorted.at(middle - 1 + (sorted.length % 2)), sorted[middle]];
  return { median: (low + high) / 2, min: sorted[0] ?? Number.NaN, max: sorted.at(-1) ?? Number.NaN };
}

const of = ({ rounds }: Series, figure: Figure) => spreadOf(rounds.map((round) => round[figure]));

const HEAD = [
  'bodies',
  'connections',
  'system',
  'CPU µs/event',
  'of naive',
  'of floor',
  'of Redpanda Connect',
].concat(['requests/s', 'of naive', 'of Redpanda Connect', 'p50 ms', 'p99 ms', 'peak RSS MB']);

/** The median of one's shares in what the other needed in the same round: a machine is faster in one round than in the next. */
function shareOf(one: Series, other: Series, figure: Figure): string {
  const shares = one.rounds.map((round, n) => round[figure] / (other.rounds[n]?.[figure] ?? Number.NaN));
  return spreadOf(shares).median.toFixed(2);
}

/** Medians, with the least and the most of all rounds; and each system as a share of the others beside it. */
export function tableOf(series: readonly Series[]): string {
  const table = new Table({ head: HEAD, style: { head: [], border: [] } });
  for (const one of series) {
    const same = series.filter(
      ({ form, connections }) => form === one.form && connections === one.connections,
    );
    const beside = (system: string) => same.find((other) => other.system === system);
    /** Of its settings, the one that does best. */
    const ofBest = (figure: Figure, best: 'least' | 'most') => {
      const all = same.filter(({ system }) => system.startsWith('redpanda'));
      if (all.length === 0 || all.includes(one)) return '';
      const sorted = all.toSorted((a, b) => of(a, figure).median - of(b, figure).median);
      return shareOf(one, sorted.at(best === 'least' ? 0 : -1) as Series, figure);
    };
    const share = (system: string, figure: Figure) => {
      const other = beside(system);
      return other && other !== one ? shareOf(one, other, figure) : '';
    };
    const cells = [
      ...[one.form, String(one.connections), one.system],
      ...[
        text(of(one, 'cpuMicros'), 1),
        share('naive', 'cpuMicros'),
        share('floor', 'cpuMicros'),
        ofBest('cpuMicros', 'least'),
      ],
      ...[
        text(of(one, 'requestsPerSecond'), 0),
        share('naive', 'requestsPerSecond'),
        ofBest('requestsPerSecond', 'most'),
      ],
      ...[text(of(one, 'p50Ms'), 1), text(of(one, 'p99Ms'), 1), text(of(one, 'peakRssMb'), 0)],
    ];
    table.push(cells);
  }
  return table.toString();
}

/** The same figures for other programs. */
export const figuresOf = (series: readonly Series[]) =>
  series.map((one) => ({
    ...one,
    cpuMicros: of(one, 'cpuMicros'),
    requestsPerSecond: of(one, 'requestsPerSecond'),
    p50Ms: of(one, 'p50Ms'),
    p99Ms: of(one, 'p99Ms'),
    peakRssMb: of(one, 'peakRssMb'),
  }));

function text({ median, min, max }: Spread, digits: number): string {
  const number = (value: number) =>
    value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return min === max ? number(median) : `${number(median)} (${number(min)}–${number(max)})`;
}
