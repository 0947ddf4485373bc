import { join } from 'node:path';
import Table from 'cli-table3';
import { FORMS, type Form } from './load/bodies.ts';
import { type RateSeen, runVegeta, writeTargets } from './load/run-vegeta.ts';
import { type Spread, spreadOf } from './report.ts';
import type { System } from './systems.ts';

/** One system at one steady rate, all rounds. */
export type RateSeries = {
  readonly system: string;
  readonly form: Form;
  /** Of Hookline's own capacity. */
  readonly percent: number;
  readonly perSecond: number;
  readonly rounds: readonly RateSeen[];
};

export type RateOptions = {
  readonly vegeta: string;
  readonly dir: string;
  readonly systems: readonly System[];
  /** Requests per second that Hookline answers when it is sent as many as it takes. */
  readonly capacity: ReadonlyMap<Form, number>;
  readonly percents: readonly number[];
  readonly rounds: number;
  readonly seconds: number;
  readonly connections: number;
  readonly say: (line: string) => void;
};

/** Every system at the same rates, in turns: shares of Hookline's capacity. */
export async function measureRates(options: RateOptions): Promise<RateSeries[]> {
  const { vegeta, dir, systems, capacity, percents, rounds, seconds, connections, say } = options;
  const series = FORMS.filter((form) => capacity.has(form)).flatMap((form) =>
    percents.flatMap((percent) =>
      systems.map((system, n) => ({
        system,
        form,
        percent,
        targets: join(dir, `${form}-${n}.targets`),
        rounds: [] as RateSeen[],
        perSecond: Math.round(((capacity.get(form) ?? 0) * percent) / 100),
      })),
    ),
  );
  for (const { targets, form, system } of series) await writeTargets(targets, form, system.url);
  for (let round = 1; round <= rounds; round++) {
    say(`steady rates, round ${round} of ${rounds}`);
    for (const one of round % 2 === 1 ? series : series.toReversed()) {
      const { targets, perSecond } = one;
      const seen = await runVegeta({ vegeta, targets, perSecond, seconds, connections });
      one.rounds.push(seen);
      const share = `${(100 * seen.share).toFixed(1)} % answered 200`;
      say(
        `  ${one.form}, ${perSecond}/s (${one.percent} %), ${one.system.label}: ${share}, p50 ${seen.p50Ms.toFixed(1)} ms, p99 ${seen.p99Ms.toFixed(1)} ms`,
      );
    }
  }
  return series.map(({ system, form, percent, perSecond, rounds }) => ({
    system: system.label,
    form,
    percent,
    perSecond,
    rounds,
  }));
}

const HEAD = ['bodies', 'of capacity', 'requests/s', 'system', 'answered 200, least', 'p50 ms', 'p99 ms'];

/** Medians, with the least and the most of all rounds. */
export function tableOfRates(series: readonly RateSeries[]): string {
  const table = new Table({ head: HEAD, style: { head: [], border: [] } });
  const text = ({ median, min, max }: Spread) => `${median.toFixed(1)} (${min.toFixed(1)}–${max.toFixed(1)})`;
  for (const { system, form, percent, perSecond, rounds } of series) {
    const least = Math.min(...rounds.map(({ share }) => share));
    table.push([
      ...[form, `${percent} %`, String(perSecond), system, `${(100 * least).toFixed(1)} %`],
      ...[text(spreadOf(rounds.map(({ p50Ms }) => p50Ms))), text(spreadOf(rounds.map(({ p99Ms }) => p99Ms)))],
    ]);
  }
  return table.toString();
}
