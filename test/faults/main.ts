/**
 * `make faults`: Hookline and the naive reference go through the same faults on three real brokers, side by side, and
 * everything that was acknowledged is looked for in Kafka. Ends with 1 where Hookline broke a promise.
 */
import { join } from 'node:path';
import { ROOT } from '../support/source-tree.ts';
import { FaultCluster } from './cluster/fault-cluster.ts';
import { type Options, parseOptions, USAGE } from './options.ts';
import type { Outcome } from './outcome.ts';
import { brokenPromises, tableOf, writeReport } from './report.ts';
import { runSchedule } from './schedule/run-schedule.ts';

const LIMITS = { answerWithinMs: 30_000, recoverWithinMs: 45_000 };
const say = (line: string) => console.log(line);
const interrupted = new AbortController();
process.once('SIGINT', () => interrupted.abort(new Error('interrupted')));

const options = optionsOrExit();
const began = performance.now();
const elapsed = () => `${Math.round((performance.now() - began) / 1_000)} s`.padStart(6);
say(`seed ${options.seed}: the same seed gives the same faults (--seed ${options.seed})`);

const outcomes: Outcome[] = [];
{
  await using cluster = await FaultCluster.start({
    seed: options.seed,
    signal: interrupted.signal,
    onProgress: (line) => say(`${elapsed()}  ${line}`),
  });
  for (const schedule of options.schedules) {
    say(`${elapsed()}  ▸ ${schedule.name}: ${schedule.about}`);
    const run = { ...options, ...LIMITS, schedule, cluster, signal: interrupted.signal };
    const done = await runSchedule({ ...run, say: (line) => say(`${elapsed()}      ${line}`) });
    for (const { system, verdict } of done) {
      const { acked, lost } = verdict;
      say(`${elapsed()}    ${system}: ${acked} acked, ${lost} lost`);
    }
    outcomes.push(...done);
  }
}

const file = join(ROOT, '.local/faults/report.json');
const seconds = Math.round((performance.now() - began) / 1_000);
const broken = brokenPromises(outcomes);
writeReport(file, { seed: options.seed, scale: options.scale, seconds, broken, outcomes });
say(`\n${tableOf(outcomes)}`);
for (const line of broken) say(`BROKEN: ${line}`);
say(`seed ${options.seed}, ${seconds} s; all figures: ${file}`);
process.exitCode = broken.length > 0 ? 1 : 0;

function optionsOrExit(): Options {
  try {
    return parseOptions(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n${USAGE}\n`);
    process.exit(2);
  }
}
