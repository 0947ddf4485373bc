/**
 * `make bench` and `make bench-peers`: Hookline and others under the same load, in turns in one run. What is told are medians over
 * the rounds; a busy machine shows in the spread, and less in the shares.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { writeReport } from '../faults/report.ts';
import { useStack } from '../stack/use-stack.ts';
import { orExit } from '../support/or-exit.ts';
import { ROOT } from '../support/source-tree.ts';
import { goTool, REDPANDA_CONNECT, VEGETA } from '../support/tools/go-tool.ts';
import { writeRequests } from './load/bodies.ts';
import { findWrk, runWrk } from './load/run-wrk.ts';
import { type Measurement, measure } from './measure.ts';
import { parseOptions, USAGE } from './options.ts';
import { measureRates, tableOfRates } from './rates.ts';
import { figuresOf, type Series, spreadOf, tableOf } from './report.ts';
import { isPeer, System, type SystemOptions } from './systems.ts';

const say = (line: string) => console.log(line);
const options = orExit(() => parseOptions(process.argv.slice(2)), USAGE);
const wrk = orExit(() => findWrk(process.env));
/** Each system once under load before anything counts: code is compiled, connections and sessions are open. */
const WARM_UP = { seconds: 3, connections: 64 };

/** More than any of them needs at its rate: with few, a slow answer would keep the next requests from being sent. */
const RATE_CONNECTIONS = 1_024;

const dir = mkdtempSync(join(tmpdir(), 'hookline-bench-'));
const requestsFile = (form: string) => join(dir, `${form}.requests`);
await using disposing = new AsyncDisposableStack();
disposing.defer(() => rmSync(dir, { recursive: true }));
for (const form of options.forms) await writeRequests(requestsFile(form), form);

const stack = disposing.use(await useStack({ env: process.env, onProgress: say }));
const { against, profileDir } = options;
const build = {
  env: process.env,
  dir: join(ROOT, '.local/tools'),
  signal: new AbortController().signal,
  onProgress: say,
};
const peer = options.systems.some(isPeer) && (await goTool(REDPANDA_CONNECT, build));
const vegeta = options.rates.length > 0 && (await goTool(VEGETA, build));
if (options.busyCore) disposing.use(keepCoreBusy());
const wanted: SystemOptions[] = options.systems.map((name) => ({
  name,
  stack,
  profileDir: isPeer(name) ? undefined : profileDir,
  ...(peer && { env: { REDPANDA_CONNECT: peer } }),
}));
if (against !== undefined) wanted.push({ name: 'hookline', stack, root: against });
const systems: System[] = [];
for (const one of wanted) systems.push(disposing.use(await System.start(one)));

const loads = options.forms.flatMap((form) =>
  options.connections.map((connections) => ({ form, connections })),
);
const series = loads.flatMap(({ form, connections }) =>
  systems.map((system) => ({ system, form, connections, rounds: [] as Measurement[] })),
);
const { seconds } = options;
for (const form of options.forms) {
  for (const { url } of systems) await runWrk({ wrk, url, requestsFile: requestsFile(form), ...WARM_UP });
}
for (let round = 1; round <= options.rounds; round++) {
  say(`round ${round} of ${options.rounds}`);
  for (const { system, form, connections, rounds } of round % 2 === 1 ? series : series.toReversed()) {
    const load = { wrk, url: system.url, requestsFile: requestsFile(form), connections, seconds };
    const measured = await measure(system, () => runWrk(load));
    rounds.push(measured);
    const { cpuMicros, requestsPerSecond, p99Ms } = measured;
    const figures = `${cpuMicros.toFixed(1)} µs, ${Math.round(requestsPerSecond)}/s, p99 ${p99Ms.toFixed(1)} ms`;
    say(`  ${form}, ${connections} connections, ${system.label}: ${figures}`);
  }
}
const named: Series[] = series.map(({ system, ...rest }) => ({ ...rest, system: system.label }));
const file = join(ROOT, '.local/bench/report.json');
const machine = { cpu: cpus()[0]?.model, cores: cpus().length, node: process.version };
const rates = vegeta ? await measureRates({ ...rateOptions(), vegeta }) : [];
writeReport(file, { at: new Date().toISOString(), machine, options, series: figuresOf(named), rates });
say(`\n${tableOf(named)}`);
if (rates.length > 0) say(tableOfRates(rates));
say(`all figures: ${file}`);

function rateOptions() {
  const { rounds, rates: percents, connections } = options;
  const own = named.filter(({ system, connections: at }) => system === 'hookline' && at === connections[0]);
  const capacity = new Map(
    own.map((one) => [
      one.form,
      spreadOf(one.rounds.map(({ requestsPerSecond }) => requestsPerSecond)).median,
    ]),
  );
  // The naive receiver is slower than the lowest of these rates.
  const compared = systems.filter(({ label, storesNothing }) => !storesNothing && label !== 'naive');
  return {
    dir,
    systems: compared,
    capacity,
    percents,
    rounds,
    seconds,
    connections: RATE_CONNECTIONS,
    say,
  };
}

/** Until it is disposed of. */
function keepCoreBusy(): AsyncDisposable {
  const thread = new Worker('for (;;);', { eval: true });
  return { [Symbol.asyncDispose]: async () => void (await thread.terminate()) };
}
