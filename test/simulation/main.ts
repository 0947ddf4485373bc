/**
 * `make simulate`: schedules of webhooks or commands, and faults, in simulated time, each judged. Ends with 1 where a promise was broken.
 * The same seed gives the same trace, byte for byte, on any machine and with any number of jobs.
 */
import { execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { collectYoungInOneThread, disablePretenuring } from '../../src/runtime/v8-flags.ts';
import { orExit } from '../support/or-exit.ts';
import { takeOver } from './engine/take-over.ts';
import { parseOptions, USAGE } from './options.ts';
import { type Finding, progressOf, Tally } from './tally.ts';

const options = orExit(
  () => parseOptions(process.argv.slice(2), Math.floor(Math.random() * 1_000_000_000)),
  USAGE,
);
// A stack for each of a million errors would take a twentieth of the time.
Error.stackTraceLimit = options.isLoud ? 10 : 0;
// Each core has a job of its own, and nearly all that one makes is short-lived.
disablePretenuring();
collectYoungInOneThread();
const say = (line: string) => process.stdout.write(`${line}\n`);
const tally = new Tally();
const tellProgress = progressOf(tally, (line) => process.stderr.write(`${line}\n`));
const found = (finding: Finding) => {
  const { seed, violations } = finding;
  if (violations.length > 0) say(`seed ${seed}, commit ${commit()}: ${violations.join('; ')}`);
  tally.add(finding);
  tellProgress();
};

if (options.isJob) await simulate((finding) => process.send?.(finding));
else {
  say(`seed ${options.seed}: the same seed gives the same schedules (--seed ${options.seed})`);
  if (options.jobs === 1) await simulate(found);
  else await Promise.all(Array.from({ length: options.jobs }, (_, job) => startJob(job)));
  const last = tally.end();
  const { webhooks, control } = tally.acknowledged;
  say(`${webhooks} webhooks were acknowledged, ${control} commands carried out`);
  say(last);
  process.exitCode = tally.violations > 0 ? 1 : 0;
}
process.disconnect?.();

async function simulate(report: (finding: Finding) => void): Promise<void> {
  // Before anything asks Node for a timer.
  const taken = takeOver();
  const { runSchedules } = await import('./run-schedules.ts');
  await runSchedules(options, { taken, say, found: report });
}

async function startJob(job: number): Promise<void> {
  const args = [...process.argv.slice(2), '--seed', `${options.seed}`, '--job', `${job}`];
  // Most of what a schedule needs is needed no more when it ends: a larger nursery keeps it from being copied.
  const execArgv = [...process.execArgv, '--max-semi-space-size=64'];
  const child = fork(import.meta.filename, args, { execArgv });
  child.on('message', (finding) => found(finding as Finding));
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`job ${job} has ended with ${code}`);
}

function commit(): string {
  try {
    return execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim();
  } catch {
    return 'unknown';
  }
}
