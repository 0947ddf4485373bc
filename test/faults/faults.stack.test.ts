import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { FaultCluster } from './cluster/fault-cluster.ts';
import { killAtRandom, rollRestarts } from './fleet/run-fleet.ts';
import { faultsOf } from './oracle/judge.ts';
import { LONG, NOTHING_WRONG, QUIET, runShort, SEED, startShortCluster } from './short-form.ts';

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
