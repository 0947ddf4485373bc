import { readFileSync } from 'node:fs';
import type { TakenOver } from './engine/take-over.ts';
import type { Options } from './options.ts';
import type { Finding } from './tally.ts';
import { type Plan, planOf } from './webhooks/plan.ts';
import type { StartReceiver } from './webhooks/receiver.ts';
import { runPlan } from './webhooks/run-plan.ts';
import { shrink } from './webhooks/shrink.ts';
import { tell } from './webhooks/story.ts';

type Deps = {
  readonly taken: TakenOver;
  readonly say: (line: string) => void;
  readonly found: (finding: Finding) => void;
};

/** Each shrinks, which takes its time: more of them say no more. */
const MAX_STORIES = 3;

/** Runs the schedules of one job: of `jobs` it takes every so manieth. */
export async function runSchedules(options: Options, { taken, say, found }: Deps): Promise<void> {
  const { seed, job, jobs, minutes, plan: file } = options;
  const count = file === undefined ? options.schedules : 1;
  const end = performance.now() + minutes * 60_000;
  const start = options.isKafkajs ? await kafkajs() : undefined;
  let stories = 0;
  for (let n = job; count === undefined ? performance.now() < end : n < count; n += jobs) {
    const plan = file === undefined ? planOf(seed + n) : readPlan(file);
    const { lines, ...outcome } = await runPlan(plan, taken, { keepsLines: options.isLoud, start });
    for (const line of lines ?? []) say(line);
    found({ n, seed: plan.seed, ...outcome });
    if (outcome.violations.length === 0) continue;
    if (options.endsAtFirst) return;
    if (++stories <= MAX_STORIES) say(await storyOf(plan, taken, start));
  }
}

const readPlan = (file: string): Plan => JSON.parse(readFileSync(file, 'utf8'));

const kafkajs = async () => (await import('./webhooks/kafkajs-receiver.ts')).startKafkajsReceiver;

async function storyOf(plan: Plan, taken: TakenOver, start: StartReceiver | undefined): Promise<string> {
  const isBroken = async (shorter: Plan) => (await runPlan(shorter, taken, { start })).violations.length > 0;
  const shortest = await shrink(plan, isBroken);
  return tell(shortest, await runPlan(shortest, taken, { keepsLines: true, start }));
}
