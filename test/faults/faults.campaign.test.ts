import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readTopic } from '../support/topic-reader.ts';
import type { FaultCluster } from './cluster/fault-cluster.ts';
import { LONG, NOTHING_WRONG, runShort, SEED, startShortCluster } from './short-form.ts';
import { System } from './system/system.ts';
import { digestOf, sendLarge } from './traffic/large-webhooks.ts';
import { subscriptionsOf } from './traffic/webhooks.ts';

let cluster: FaultCluster;
beforeAll(async () => {
  cluster = await startShortCluster();
});
afterAll(() => cluster?.[Symbol.asyncDispose]());

describe('what was acknowledged is stored, in order and to the byte', LONG, () => {
  it('while all brokers are down, with a spool: every webhook is answered 200, and drained when they are back', async () => {
    const { verdict, drainedAfterMs } = await runShort(cluster, [{ do: 'all-down', seconds: 5 }], {
      spool: true,
    });
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
