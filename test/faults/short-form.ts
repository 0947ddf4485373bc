import { expect, inject } from 'vitest';
import { FaultCluster } from './cluster/fault-cluster.ts';
import type { Outcome } from './outcome.ts';
import { runSchedule } from './schedule/run-schedule.ts';
import type { Schedule } from './schedule/schedules.ts';
import type { Step } from './schedule/steps.ts';

/** The short form of `make faults`: the same kit, a few seconds of each fault, one seed, without the naive reference. */
export const SEED = 20260301;

export const startShortCluster = (): Promise<FaultCluster> =>
  FaultCluster.start({
    seed: SEED,
    // A broker that is unavailable is given up after two seconds, not after nine.
    sessionTimeoutMs: 2_000,
    shortLived: true,
    registryUrl: inject('registryUrl'),
  });

export const QUIET = { say: () => {}, signal: new AbortController().signal };

/** Enough to meet each fault, and little enough for two cores that run other tests besides. */
const PER_SECOND = 40;

/** What Hookline makes of these steps, under the current test's name. */
export async function runShort(
  cluster: FaultCluster,
  steps: Step[],
  more: Partial<Schedule> = {},
): Promise<Outcome> {
  const { currentTestName: name = '' } = expect.getState();
  const schedule: Schedule = { name, about: name, plan: () => steps, perSecond: PER_SECOND, ...more };
  const limits = { answerWithinMs: 20_000, recoverWithinMs: 20_000 };
  const common = { ...QUIET, ...limits, schedule, cluster, seed: SEED, scale: 1 };
  const [outcome] = await runSchedule({ ...common, kinds: ['hookline'], entities: 0 });
  return outcome ?? expect.fail('no outcome');
}

export const NOTHING_WRONG = { lost: 0, orderViolations: 0, altered: 0, wronglyStored: 0, late: 0 };

/** On a machine that is busy with other tests besides. */
export const LONG = { timeout: 240_000 };
