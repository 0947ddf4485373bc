import type { TakenOver } from './engine/take-over.ts';
import type { Options } from './options.ts';
import { scheduleIn, scheduleOf } from './schedules.ts';
import type { Finding } from './tally.ts';

type Deps = {
  readonly taken: TakenOver;
  readonly say: (line: string) => void;
  readonly found: (finding: Finding) => void;
};

/** Each shrinks, which takes its time: more of them say no more. */
const MAX_STORIES = 3;

/** Runs the schedules of one job: of `jobs` it takes every so manieth. */
export async function runSchedules(options: Options, { taken, say, found }: Deps): Promise<void> {
  const { seed, job, jobs, minutes, plans } = options;
  const count = plans.length > 0 ? plans.length : options.schedules;
  const end = performance.now() + minutes * 60_000;
  const deps = { taken, start: options.isKafkajs ? await kafkajs() : undefined };
  let stories = 0;
  for (let n = job; count === undefined ? performance.now() < end : n < count; n += jobs) {
    const file = plans[n];
    const schedule = file === undefined ? scheduleOf(seed + n, options.of, deps) : scheduleIn(file, deps);
    const { lines, ...outcome } = await schedule.run({ keepsLines: options.isLoud });
    for (const line of lines ?? []) say(line);
    found({ n, seed: schedule.seed, of: schedule.of, ...outcome });
    if (outcome.violations.length === 0) continue;
    if (options.endsAtFirst) return;
    if (++stories <= MAX_STORIES) say(await schedule.story());
  }
}

const kafkajs = async () => (await import('./webhooks/kafkajs-receiver.ts')).startKafkajsReceiver;
