import { until } from '../../support/until.ts';
import type { FaultCluster } from '../cluster/fault-cluster.ts';
import { judgeEnded, type Outcome } from '../outcome.ts';
import { createRandom } from '../random.ts';
import { System } from '../system/system.ts';
import { SenderThread } from '../traffic/sender-thread.ts';
import { Fleet } from './fleet.ts';

export type FleetRun = {
  readonly cluster: FaultCluster;
  readonly seed: number;
  /** How many restarts or kills. */
  readonly count: number;
  readonly perSecond: number;
  readonly say: (line: string) => void;
  readonly signal: AbortSignal;
};

/** A schedule that is about the processes themselves, not about the brokers. */
export type FleetSchedule = {
  readonly name: string;
  readonly about: string;
  /** How many restarts or kills there are in the long form. */
  readonly count: number;
  readonly run: (run: FleetRun) => Promise<Outcome>;
};

/** What is done to the processes; each resolves when its process has a successor. */
type Blows = (fleet: Fleet, run: FleetRun) => Promise<void>;

const SLOTS = [0, 1] as const;
const ENTITIES = 200;
const RECOVER_MS = 45_000;
/** Of a process that isn't killed, longest time until it is. */
const LONGEST_LIFE_MS = 1_500;

/** SIGTERM, one process after the other: the sender must see nothing but 200s. */
export const rollRestarts = (run: FleetRun): Promise<Outcome> =>
  runFleet('rolling-restarts', true, run, async (fleet, { count, say, signal }) => {
    for (let n = 0; n < count; n++) {
      signal.throwIfAborted();
      const exitCode = await fleet.restart(n % SLOTS.length);
      if (exitCode !== 0) throw new Error(`a process that was told to stop ended with ${exitCode}`);
      if ((n + 1) % 10 === 0) say(`${n + 1} restarts`);
    }
  });

/** SIGKILL at random times, of both: what was answered is in Kafka all the same. */
export const killAtRandom = (run: FleetRun): Promise<Outcome> =>
  runFleet('ingress-killed', false, run, async (fleet, { count, seed, say, signal }) => {
    let killed = 0;
    const killIn = async (slot: number) => {
      const random = createRandom(seed, `kills/${slot}`);
      while (killed < count) {
        signal.throwIfAborted();
        killed++;
        if (killed % 20 === 0) say(`${killed} kills`);
        await fleet.kill(slot, random.between(0, LONGEST_LIFE_MS));
      }
    };
    await Promise.all(SLOTS.map(killIn));
  });

async function runFleet(name: string, mustTakeAll: boolean, run: FleetRun, blows: Blows): Promise<Outcome> {
  const { cluster, seed, perSecond } = run;
  await using system = await System.make({ kind: 'hookline', cluster, seed, withSpool: false });
  await cluster.whole(system.eventTopics);
  await using fleet = await Fleet.start(system, SLOTS.length);
  await using stack = new AsyncDisposableStack();
  const sender = new SenderThread({
    url: fleet.balancer.url,
    seed,
    entities: ENTITIES,
    perSecond,
    answerWithinMs: 30_000,
    againAfterMs: 50,
    answersEventIds: true,
  });
  stack.defer(() => sender.end());
  const passes = (since: number) =>
    until('every entity passes', async () => (await sender.progress(since)).isRecovered, RECOVER_MS);
  const begin = Date.now();
  await passes(0);
  const from = Date.now();
  await blows(fleet, run);
  const to = Date.now();
  await passes(to);
  const recoveredAfterMs = Date.now() - to;
  const sent = await sender.stop();
  const seconds = (Date.now() - begin) / 1_000;
  await fleet.stop();
  const verdict = await judgeEnded({ cluster, seed, system, sent, faultTimes: [{ from, to }] });
  const produce = { requests: 0, hit: 0 };
  return {
    schedule: name,
    system: 'hookline',
    seed,
    mustTakeAll,
    verdict,
    recoveredAfterMs,
    produce,
    seconds,
  };
}

export const FLEET_SCHEDULES: readonly FleetSchedule[] = [
  {
    name: 'rolling-restarts',
    about: 'two processes behind a balancer, restarted by SIGTERM one after the other, 100 times',
    count: 100,
    run: rollRestarts,
  },
  {
    name: 'ingress-killed',
    about: 'two processes behind a balancer, killed at random times, 200 times',
    count: 200,
    run: killAtRandom,
  },
];
