/**
 * `make faults`: Hookline and the naive reference go through the same faults on three real brokers, side by side, and
 * everything that was acknowledged is looked for in Kafka. Ends with 1 where Hookline broke a promise.
 */
import { join } from 'node:path';
import { orExit } from '../support/or-exit.ts';
import { ROOT } from '../support/source-tree.ts';
import { FaultCluster } from './cluster/fault-cluster.ts';
import { parseOptions, USAGE } from './options.ts';
import type { Outcome } from './outcome.ts';
import { brokenPromises, tableOf, writeReport } from './report.ts';
import { runSchedule } from './schedule/run-schedule.ts';

const LIMITS = { answerWithinMs: 30_000, recoverWithinMs: 45_000 };
/** Events a second while ingress itself is restarted and killed. */
const FLEET_RATE = 400;
const say = (line: string) => console.log(line);
const interrupted = new AbortController();
process.once('SIGINT', () => interrupted.abort(new Error('interrupted')));

const options = orExit(() => parseOptions(process.argv.slice(2)), USAGE);
const began = performance.now();
const elapsed = () => `${Math.round((performance.now() - began) / 1_000)} s`.padStart(6);
say(`seed ${options.seed}: the same seed gives the same faults (--seed ${options.seed})`);

const outcomes: Outcome[] = [];
const { signal } = interrupted;
const announce = ({ name, about }: { name: string; about: string }) =>
  say(`${elapsed()}  ▸ ${name}: ${about}`);
const detail = (line: string) => say(`${elapsed()}      ${line}`);
const note = (outcome: Outcome) => {
  const { acked, lost } = outcome.verdict;
  say(`${elapsed()}    ${outcome.system}: ${acked} acked, ${lost} lost`);
  outcomes.push(outcome);
};
{
  const { seed, scale } = options;
  // No fault concerns it: one that runs already does as well.
  const { SCHEMA_REGISTRY_URL: registryUrl } = process.env;
  const onProgress = (line: string) => say(`${elapsed()}  ${line}`);
  await using cluster = await FaultCluster.start({ seed, signal, onProgress, registryUrl });
  const common = { ...options, ...LIMITS, cluster, signal, say: detail };
  for (const schedule of options.schedules) {
    announce(schedule);
    for (const outcome of await runSchedule({ ...common, schedule })) note(outcome);
  }
  for (const fleet of options.fleets) {
    announce(fleet);
    const count = Math.max(2, Math.round(fleet.count * scale));
    note(await fleet.run({ ...common, count, perSecond: FLEET_RATE }));
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
