/**
 * `make simulate`: schedules of webhooks and faults in simulated time, each judged. Ends with 1 where a promise was broken.
 * The same seed gives the same trace, byte for byte, on any machine.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { takeOver } from './engine/take-over.ts';
import { type Options, parseOptions, USAGE } from './options.ts';

// A stack for each of a million errors would take a tenth of the time.
Error.stackTraceLimit = 2;
// Before anything asks Node for a timer.
const taken = takeOver();
const { planOf } = await import('./webhooks/plan.ts');
const { runPlan } = await import('./webhooks/run-plan.ts');
const { shrink } = await import('./webhooks/shrink.ts');
const { tell } = await import('./webhooks/story.ts');

const options = optionsOrExit();
const start = options.isKafkajs
  ? (await import('./webhooks/kafkajs-receiver.ts')).startKafkajsReceiver
  : undefined;
const say = (line: string) => process.stdout.write(`${line}\n`);
const end = performance.now() + options.minutes * 60_000;
const trace = createHash('sha256');
let schedules = 0;
let violations = 0;
let acknowledged = 0;
/** Each shrinks, which takes its time: more of them say no more. */
const MAX_STORIES = 3;

say(`seed ${options.seed}: the same seed gives the same schedules (--seed ${options.seed})`);
const count = options.plan === undefined ? options.schedules : 1;
while (count === undefined ? performance.now() < end : schedules < count) {
  const plan = options.plan === undefined ? planOf(options.seed + schedules) : readPlan(options.plan);
  schedules++;
  const outcome = await runPlan(plan, taken, { keepsLines: options.isLoud, start });
  trace.update(outcome.trace);
  acknowledged += outcome.acknowledged;
  for (const line of outcome.lines ?? []) say(line);
  if (outcome.violations.length === 0) continue;
  violations++;
  say(`seed ${plan.seed}, commit ${commit()}: ${outcome.violations.join('; ')}`);
  if (options.endsAtFirst) break;
  if (violations <= MAX_STORIES) say(await story(plan));
}
say(`${acknowledged} webhooks were acknowledged`);
say(`schedules ${schedules}, violations ${violations}, trace ${trace.digest('hex')}`);
process.exitCode = violations > 0 ? 1 : 0;

async function story(plan: ReturnType<typeof planOf>): Promise<string> {
  const isBroken = async (shorter: typeof plan) =>
    (await runPlan(shorter, taken, { start })).violations.length > 0;
  const shortest = await shrink(plan, isBroken);
  return tell(shortest, await runPlan(shortest, taken, { keepsLines: true, start }));
}

function readPlan(file: string): ReturnType<typeof planOf> {
  return JSON.parse(readFileSync(file, 'utf8'));
}

function commit(): string {
  try {
    return execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim();
  } catch {
    return 'unknown';
  }
}

function optionsOrExit(): Options {
  try {
    return parseOptions(process.argv.slice(2), Math.floor(Math.random() * 1_000_000_000));
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n${USAGE}\n`);
    process.exit(2);
  }
}
