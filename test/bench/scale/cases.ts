import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Brokers } from '../../support/topics-fixture.ts';
import { runVegeta, writeTargets } from '../load/run-vegeta.ts';
import { runWrk } from '../load/run-wrk.ts';
import { measure } from '../measure.ts';
import { connectionsTo, cpuMicros, residentBytes } from '../process-cost.ts';
import { type Spread, spreadOf } from '../report.ts';
import { System } from '../systems.ts';

export type Bench = {
  readonly stack: Brokers;
  readonly dir: string;
  readonly requestsFile: string;
  readonly wrk: string;
  readonly vegeta: string;
  readonly rounds: number;
  /** Of one measurement. */
  readonly seconds: number;
  /** To each process that is measured. */
  readonly connections: number;
  readonly say: (line: string) => void;
};

/** What one event costs where `count` processes take them, or its topic has `count` partitions. */
export type Scaled = {
  readonly count: number;
  readonly cpuMicros: Spread;
  /** Of all processes together. */
  readonly eventsPerSecond: Spread;
  /** Open ones of one process to all brokers, after the load. */
  readonly brokerConnections: number;
  readonly rssMb: number;
};

const start = (bench: Bench, partitions?: number) =>
  System.start({ name: 'hookline', stack: bench.stack, ...(partitions && { partitions }) });

const load = ({ wrk, requestsFile, connections, seconds }: Bench, { url }: System) =>
  runWrk({ wrk, url, requestsFile, connections, seconds });

type Seen = { cpu: number[]; perSecond: number[] };

/** All of these at once, each under a load of its own. */
async function loadAll(bench: Bench, systems: readonly System[], seen: Seen): Promise<void> {
  const measured = await Promise.all(systems.map((system) => measure(system, () => load(bench, system))));
  seen.cpu.push(...measured.map(({ cpuMicros }) => cpuMicros));
  seen.perSecond.push(measured.reduce((sum, { requestsPerSecond }) => sum + requestsPerSecond, 0));
}

function scaled(bench: Bench, count: number, { process: { pid } }: System, { cpu, perSecond }: Seen): Scaled {
  const ports = bench.stack.brokers.map((address) => Number(address.split(':').at(-1)));
  return {
    count,
    cpuMicros: spreadOf(cpu),
    eventsPerSecond: spreadOf(perSecond),
    brokerConnections: connectionsTo(pid, ports),
    rssMb: residentBytes(pid) / 1024 ** 2,
  };
}

const inWords = ({ cpuMicros, eventsPerSecond, brokerConnections, rssMb }: Scaled) =>
  `${cpuMicros.median.toFixed(1)} µs of CPU per event (${cpuMicros.min.toFixed(1)}–${cpuMicros.max.toFixed(1)}), ` +
  `${Math.round(eventsPerSecond.median)} events/s, ${brokerConnections} connections to the broker from each process, ` +
  `RSS ${rssMb.toFixed(0)} MiB`;

/** One ingress, then several side by side, each under the same load; in turns. */
export async function measurePods(bench: Bench, counts: readonly number[]): Promise<Scaled[]> {
  if (counts.length === 0) return [];
  await using disposing = new AsyncDisposableStack();
  const systems: System[] = [];
  while (systems.length < Math.max(...counts)) systems.push(disposing.use(await start(bench)));
  for (const system of systems) await load(bench, system);
  const runs = counts.map((count) => ({ count, seen: { cpu: [], perSecond: [] } as Seen }));
  for (let round = 1; round <= bench.rounds; round++) {
    for (const { count, seen } of runs) await loadAll(bench, systems.slice(0, count), seen);
  }
  return runs.map(({ count, seen }) => {
    const one = scaled(bench, count, systems[0] as System, seen);
    bench.say(`${count} ingress: ${inWords(one)}`);
    return one;
  });
}

/** One ingress whose topics have so many partitions; in turns. */
export async function measurePartitions(bench: Bench, counts: readonly number[]): Promise<Scaled[]> {
  await using disposing = new AsyncDisposableStack();
  const runs: { count: number; system: System; seen: Seen }[] = [];
  for (const count of counts) {
    const system = disposing.use(await start(bench, count));
    await load(bench, system);
    runs.push({ count, system, seen: { cpu: [], perSecond: [] } });
  }
  for (let round = 1; round <= bench.rounds; round++) {
    for (const { system, seen } of runs) await loadAll(bench, [system], seen);
  }
  return runs.map(({ count, system, seen }) => {
    const one = scaled(bench, count, system, seen);
    bench.say(`${count} partitions: ${inWords(one)}`);
    return one;
  });
}

/** What a process costs at a steady rate; 0 is an idle one. */
export type RateCost = {
  readonly perSecond: number;
  /** Of a core, in percent. */
  readonly corePercent: Spread;
  readonly p99Ms: Spread | undefined;
};

/** One ingress, idle and then at these rates. */
export async function measureRates(bench: Bench, rates: readonly number[]): Promise<RateCost[]> {
  if (rates.length === 0) return [];
  const { vegeta, dir, connections, seconds, rounds, say } = bench;
  await using system = await start(bench);
  const targets = join(dir, 'scale.targets');
  await writeTargets(targets, 'plain', system.url);
  const send = (perSecond: number) => runVegeta({ vegeta, targets, perSecond, seconds, connections });
  await load(bench, system);
  const costs: RateCost[] = [];
  for (const perSecond of [0, ...rates]) {
    const [percents, p99s]: [number[], number[]] = [[], []];
    for (let round = 1; round <= rounds; round++) {
      const before = { cpu: cpuMicros(system.process.pid), at: performance.now() };
      if (perSecond === 0) await sleep(seconds * 1_000);
      else {
        const { share, p99Ms } = await send(perSecond);
        if (share < 1)
          throw new Error(`${perSecond}/s: only ${(100 * share).toFixed(1)} % were answered 200`);
        p99s.push(p99Ms);
      }
      const micros = cpuMicros(system.process.pid) - before.cpu;
      percents.push(micros / 10 / (performance.now() - before.at));
    }
    const cost = {
      perSecond,
      corePercent: spreadOf(percents),
      p99Ms: p99s.length > 0 ? spreadOf(p99s) : undefined,
    };
    costs.push(cost);
    const { median, min, max } = cost.corePercent;
    const p99 = cost.p99Ms ? `, p99 ${cost.p99Ms.median.toFixed(1)} ms` : '';
    say(
      `${perSecond} events/s: ${median.toFixed(1)} % of a core (${min.toFixed(1)}–${max.toFixed(1)})${p99}`,
    );
  }
  return costs;
}
