import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';

export type Options = {
  readonly seed: number;
  /** How many schedules; undefined: as many as fit in `minutes`. */
  readonly schedules: number | undefined;
  readonly minutes: number;
  /** Prints all that happened in each schedule. */
  readonly isLoud: boolean;
  /** How many processes share the schedules. */
  readonly jobs: number;
  /** Which of them this is, from 0. */
  readonly job: number;
  /** Whether it is one that another has started. */
  readonly isJob: boolean;
  /** Files with a schedule each, instead of those of seeds. */
  readonly plans: readonly string[];
  /** Which schedules: of webhooks, of control, or of both, as the seed decides. */
  readonly of: 'webhooks' | 'control' | 'both';
  /** Simulates the receiver over kafkajs instead of Hookline. */
  readonly isKafkajs: boolean;
  /** Ends at the first broken promise, and does not shrink it. */
  readonly endsAtFirst: boolean;
};

const KINDS = ['webhooks', 'control', 'both'] as const;

export const USAGE = `usage: make simulate ARGS="[--minutes M | --schedules N | --plan FILE ...] [--seed S] [--jobs J] [--of KIND] [--first] [--trace]"
  --seed S        the first schedule's seed, the next has S + 1; without it one is drawn
  --minutes M     ends after M minutes (1)
  --schedules N   runs N schedules, whatever time they take
  --jobs J        J processes share the schedules (one for each core; 1 with --plan, --first or --trace)
  --of KIND       webhooks or control; without it one seed in 32 is a schedule of control
  --plan FILE     runs the schedule of a file, as a broken promise prints it (JSON); more of them, one after the other
  --first         ends at the first schedule that breaks a promise, without making it shorter
  --kafkajs       simulates what one writes first, over kafkajs, instead of Hookline: it loses
  --trace         prints everything that happens; for one schedule`;

/** @throws TypeError where an option is unknown or no number */
export function parseOptions(args: readonly string[], drawnSeed: number): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seed: { type: 'string' },
      minutes: { type: 'string', default: '1' },
      schedules: { type: 'string' },
      jobs: { type: 'string' },
      job: { type: 'string' },
      plan: { type: 'string', multiple: true, default: [] },
      of: { type: 'string', default: 'both' },
      kafkajs: { type: 'boolean', default: false },
      first: { type: 'boolean', default: false },
      trace: { type: 'boolean', default: false },
    },
  });
  const number = (name: string, text: string) => {
    const value = Number(text);
    if (!(value >= 0) || text === '') throw new TypeError(`--${name} is no number: ${text}`);
    return value;
  };
  const isOneByOne = values.plan.length > 0 || values.first || values.trace;
  const of = KINDS.find((kind) => kind === values.of);
  if (of === undefined) throw new TypeError(`--of is webhooks or control: ${values.of}`);
  return {
    of: values.kafkajs ? 'webhooks' : of,
    seed: values.seed === undefined ? drawnSeed : number('seed', values.seed),
    minutes: number('minutes', values.minutes),
    schedules: values.schedules === undefined ? undefined : number('schedules', values.schedules),
    jobs: Math.max(1, number('jobs', values.jobs ?? `${isOneByOne ? 1 : availableParallelism()}`)),
    job: number('job', values.job ?? '0'),
    isJob: values.job !== undefined,
    plans: values.plan,
    isKafkajs: values.kafkajs,
    isLoud: values.trace,
    endsAtFirst: values.first,
  };
}
