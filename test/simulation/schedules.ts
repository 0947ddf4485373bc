import { readFileSync } from 'node:fs';
import { type ControlPlan, planControl } from './control/plan.ts';
import { runControl } from './control/run-plan.ts';
import type { TakenOver } from './engine/take-over.ts';
import type { Options } from './options.ts';
import { shrink } from './shrink.ts';
import { tell } from './story.ts';
import { type Plan, planOf } from './webhooks/plan.ts';
import type { StartReceiver } from './webhooks/receiver.ts';
import { runPlan } from './webhooks/run-plan.ts';

type Outcome = {
  readonly violations: readonly string[];
  readonly trace: string;
  readonly acknowledged: number;
  readonly lines: readonly string[] | undefined;
};

/** A schedule of either kind. */
export type Schedule = {
  readonly seed: number;
  readonly of: 'webhooks' | 'control';
  run(options: { readonly keepsLines: boolean }): Promise<Outcome>;
  /** It breaks a promise: the same as short as possible, as a person reads it. */
  story(): Promise<string>;
};

/** Of so many seeds one is a schedule of control, which takes eight times as long: they get a fifth of the time. */
const CONTROL_EVERY = 32;

type Deps = { readonly taken: TakenOver; readonly start: StartReceiver | undefined };

/** The schedule of a seed. */
export function scheduleOf(seed: number, of: Options['of'], deps: Deps): Schedule {
  const isControl = of === 'both' ? seed % CONTROL_EVERY === 0 : of === 'control';
  return isControl ? ofControl(planControl(seed), deps) : ofWebhooks(planOf(seed), deps);
}

/** The schedule that a story has printed. */
export function scheduleIn(file: string, deps: Deps): Schedule {
  const plan: Plan | ControlPlan = JSON.parse(readFileSync(file, 'utf8'));
  return 'commands' in plan ? ofControl(plan, deps) : ofWebhooks(plan, deps);
}

function ofControl(plan: ControlPlan, { taken }: Deps): Schedule {
  return {
    seed: plan.seed,
    of: 'control',
    run: (options) => runControl(plan, taken, options),
    async story() {
      const isBroken = async (shorter: ControlPlan) =>
        (await runControl(shorter, taken)).violations.length > 0;
      const shortest = await shrink(plan, ['faults', 'commands'], isBroken);
      const outcome = await runControl(shortest, taken, { keepsLines: true });
      return tell(shortest, `${shortest.commands.length} commands`, outcome);
    },
  };
}

function ofWebhooks(plan: Plan, { taken, start }: Deps): Schedule {
  return {
    seed: plan.seed,
    of: 'webhooks',
    run: (options) => runPlan(plan, taken, { ...options, start }),
    async story() {
      const isBroken = async (shorter: Plan) =>
        (await runPlan(shorter, taken, { start })).violations.length > 0;
      const shortest = await shrink(plan, ['faults', 'webhooks'], isBroken);
      const outcome = await runPlan(shortest, taken, { keepsLines: true, start });
      return tell(shortest, `${shortest.webhooks.length} webhooks`, outcome);
    },
  };
}
