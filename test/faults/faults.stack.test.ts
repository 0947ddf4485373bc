import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { readTopic } from '../support/topic-reader.ts';
import { FaultCluster } from './cluster/fault-cluster.ts';
import { killAtRandom, rollRestarts } from './fleet/run-fleet.ts';
import { faultsOf } from './oracle/judge.ts';
import type { Outcome } from './outcome.ts';
import { runSchedule } from './schedule/run-schedule.ts';
import type { Schedule } from './schedule/schedules.ts';
import type { Step } from './schedule/steps.ts';
import { System } from './system/system.ts';
import { digestOf, sendLarge } from './traffic/large-webhooks.ts';
import { subscriptionsOf } from './traffic/webhooks.ts';

/** The short form of `make faults`: the same kit, a few seconds of each fault, one seed, without the naive reference. */
const SEED = 20260301;
let cluster: FaultCluster;

beforeAll(async () => {
  // A broker that is away is given up after two seconds, not after nine.
  cluster = await FaultCluster.start({
    seed: SEED,
    sessionTimeoutMs: 2_000,
    shortLived: true,
    registryUrl: inject('registryUrl'),
  });
});

afterAll(() => cluster?.[Symbol.asyncDispose]());

const quiet = { say: () => {}, signal: new AbortController().signal };

/** Enough to meet each fault, and little enough for two cores that run other tests besides. */
const PER_SECOND = 60;

async function run(steps: Step[], more: Partial<Schedule> = {}): Promise<Outcome> {
  const { currentTestName: name = '' } = expect.getState();
  const schedule: Schedule = { name, about: name, plan: () => steps, perSecond: PER_SECOND, ...more };
  const limits = { answerWithinMs: 20_000, recoverWithinMs: 20_000 };
  const common = { ...quiet, ...limits, schedule, cluster, seed: SEED, scale: 1 };
  const [outcome] = await runSchedule({ ...common, kinds: ['hookline'], entities: 0 });
  return outcome ?? expect.fail('no outcome');
}

const NOTHING_WRONG = { lost: 0, orderViolations: 0, altered: 0, wronglyStored: 0, late: 0 };

/** On a machine that is busy with other tests besides. */
const LONG = { timeout: 240_000 };

describe('what was acknowledged is stored, in order and to the byte', LONG, () => {
  it('while responses are lost, a broker is killed, another frozen, leaders move, connections are cut and go silent', async () => {
    const { verdict, produce, recoveredAfterMs } = await run([
      { do: 'lose-responses', fault: { kind: 'drop', percent: 15 }, seconds: 4 },
      { do: 'kill', broker: 0, seconds: 3 },
      { do: 'whole' },
      { do: 'freeze', broker: 1, seconds: 4 },
      { do: 'whole' },
      { do: 'move-leaders', turn: 1 },
      { do: 'cut', broker: 2 },
      { do: 'slow', latencyMs: 40, seconds: 2 },
      { do: 'blackhole', broker: 2, seconds: 3 },
      { do: 'lose-responses', fault: { kind: 'swallow', percent: 3 }, seconds: 2 },
    ]);
    expect(verdict).toMatchObject(NOTHING_WRONG);
    expect(recoveredAfterMs).not.toBeNull();
    expect(verdict.acked).toBeGreaterThan(100);
    expect(produce.hit).toBeGreaterThan(5);
  });

  it('while all brokers are down, with a spool: every webhook is answered 200, and drained when they are back', async () => {
    const { verdict, drainedAfterMs } = await run([{ do: 'all-down', seconds: 5 }], { spool: true });
    expect(verdict).toMatchObject({ ...NOTHING_WRONG, okInFaults: 1, unanswered: 0 });
    expect(verdict.spooled).toBeGreaterThan(100);
    expect(drainedAfterMs).not.toBeNull();
  });
});

describe('large bodies', LONG, () => {
  it('whose confirmations are lost are sent again: every record is one of them, to the byte', async () => {
    await using system = await System.make({ kind: 'hookline', cluster, seed: SEED, withSpool: false });
    const treasury = subscriptionsOf(SEED)[2] ?? expect.fail('no subscription');
    const { url } = await system.start();
    const before = hitsOf('hookline-ingress-large');
    for (const { proxy } of cluster.brokers) proxy.faults.set({ kind: 'drop', percent: 60 });
    const sending = Promise.all(Array.from({ length: 3 }, () => sendLarge(url, treasury, 2)));
    const sent = await sending.finally(() => cluster.heal());
    expect(hitsOf('hookline-ingress-large') - before).toBeGreaterThan(2);
    const digests = new Map(sent.flatMap((some) => [...some]));
    const env = { ...system.world.env, KAFKA_BROKERS: cluster.direct.join(',') };
    const records = await readTopic(env, system.world.topic('payment-status'), digests.size);
    const wrong = records.filter(
      ({ key, record }) => digestOf(String(record?.source)) !== digests.get(String(key)),
    );
    expect(wrong.map(({ key }) => key)).toEqual([]);
    expect(new Set(records.map(({ key }) => key)).size).toBe(digests.size);
    expect(records.length).toBeGreaterThan(digests.size);
  });
});

const hitsOf = (clientId: string) =>
  cluster.brokers.reduce((sum, { proxy }) => sum + (proxy.faults.counts.get(clientId)?.hit ?? 0), 0);

describe('two processes behind a balancer', LONG, () => {
  const fleet = () => ({ ...quiet, cluster, seed: SEED, perSecond: 100 });

  it('are restarted one after the other: the sender sees nothing but 200s', async () => {
    const { verdict } = await rollRestarts({ ...fleet(), count: 4 });
    expect(verdict).toMatchObject({ ...NOTHING_WRONG, okInFaults: 1, unanswered: 0 });
    expect(Object.keys(verdict.statuses)).toEqual(['200']);
  });

  it('are killed at random times: nothing that was acknowledged is lost', async () => {
    const { verdict } = await killAtRandom({ ...fleet(), count: 6 });
    expect(faultsOf(verdict)).toEqual([]);
    expect(verdict.unanswered).toBeGreaterThan(0);
    expect(verdict.acked).toBeGreaterThan(100);
  });
});
