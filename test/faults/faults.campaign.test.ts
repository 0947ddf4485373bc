import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readTopic } from '../support/topic-reader.ts';
import type { FaultCluster } from './cluster/fault-cluster.ts';
import { killAtRandom, rollRestarts } from './fleet/run-fleet.ts';
import { faultsOf } from './oracle/judge.ts';
import { LONG, NOTHING_WRONG, QUIET, runShort, SEED, startShortCluster } from './short-form.ts';
import { System } from './system/system.ts';
import { digestOf, sendLarge } from './traffic/large-webhooks.ts';
import { subscriptionsOf } from './traffic/webhooks.ts';

let cluster: FaultCluster;
beforeAll(async () => {
  cluster = await startShortCluster();
});
afterAll(() => cluster?.[Symbol.asyncDispose]());

describe('what was acknowledged is stored, in order and to the byte', LONG, () => {
  it('while responses are lost, a broker is killed, another frozen, leaders move, connections are cut and go silent', async () => {
    const { verdict, produce, recoveredAfterMs } = await runShort(cluster, [
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
    const { verdict, drainedAfterMs } = await runShort(cluster, [{ do: 'all-down', seconds: 5 }], {
      spool: true,
    });
    expect(verdict).toMatchObject({ ...NOTHING_WRONG, okInFaults: 1, unanswered: 0 });
    expect(verdict.spooled).toBeGreaterThan(100);
    expect(drainedAfterMs).not.toBeNull();
  });
});

describe('two processes behind a balancer', LONG, () => {
  const fleet = () => ({ ...QUIET, cluster, seed: SEED, perSecond: 100 });

  it('are restarted one after the other: the sender sees nothing but 200s', async () => {
    const { verdict } = await rollRestarts({ ...fleet(), count: 2 });
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

describe('large bodies', LONG, () => {
  it('whose confirmations are lost are sent again: every record is one of them, to the byte', async () => {
    await using system = await System.make({ kind: 'hookline', cluster, seed: SEED, withSpool: false });
    const treasury = subscriptionsOf(SEED)[2] ?? expect.fail('no subscription');
    const { url } = await system.start();
    const before = hitsOf('hookline-ingress-large');
    for (const { proxy } of cluster.brokers) proxy.faults.set({ kind: 'drop', percent: 60 });
    const sending = Promise.all(Array.from({ length: 3 }, () => sendLarge(url, treasury, 3)));
    const sent = await sending.finally(() => cluster.heal());
    expect(hitsOf('hookline-ingress-large') - before).toBeGreaterThan(0);
    const digests = new Map(sent.flatMap((some) => [...some]));
    const env = { ...system.fixture.env, KAFKA_BROKERS: cluster.direct.join(',') };
    const records = await readTopic(env, system.fixture.topic('payment-status'), digests.size);
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
