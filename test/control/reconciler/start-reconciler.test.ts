import { describe, expect, it } from 'vitest';
import { type ReconcilerParts, startReconciler } from '../../../src/control/reconciler/start-reconciler.ts';
import type { HeldLease } from '../../../src/kafka/consume/leader-lease.ts';
import { until } from '../../support/until.ts';

type Taken = Awaited<ReturnType<ReconcilerParts['hold']>>;

/** A reconciler whose looks are counted, and whose right to look is dealt out by the test. */
function start(deal: () => Taken) {
  const seen = { looks: 0, elsewhere: 0, failures: [] as unknown[] };
  const reconciler = startReconciler({
    ...({ mode: 'off', retiredKeysTtlMs: 0 } as ReconcilerParts),
    subscriptions: { all: () => [], get: () => undefined, caughtUp: async () => void seen.looks++ },
    intervalMs: 1,
    hold: async () => deal(),
    onElsewhere: () => void seen.elsewhere++,
    onFailure: (error) => void seen.failures.push(error),
  });
  return { seen, reconciler };
}

function holdOf() {
  const lost = new AbortController();
  const hold = {
    ...{ released: 0, lost: lost.signal, lose: () => lost.abort() },
    release: async () => void hold.released++,
  };
  return hold satisfies HeldLease;
}

describe('of several processes one compares', () => {
  it('and this one does not while another has the right', async () => {
    let asked = 0;
    const { seen, reconciler } = start(() => {
      asked++;
      return { holder: '10.0.0.2' };
    });
    await until('it has asked', async () => asked >= 3);
    await reconciler.stop();
    expect(seen).toEqual({ looks: 0, elsewhere: 1, failures: [] });
  });

  it('shows nothing of what it saw when it has lost the right, and asks for it again', async () => {
    const holds: ReturnType<typeof holdOf>[] = [];
    const { seen, reconciler } = start(() => {
      holds.push(holdOf());
      return holds.at(-1) as Taken;
    });
    await until('it looks', async () => seen.looks > 1);
    expect([seen.elsewhere, holds.length]).toEqual([1, 1]);
    holds[0]?.lose();
    await until('it has the right again', async () => holds.length === 2);
    await reconciler.stop();
    expect(seen.elsewhere).toBe(2);
    expect(holds.map(({ released }) => released)).toEqual([1, 1]);
  });

  it('goes on after a look that came to nothing', async () => {
    let dealt = 0;
    const { seen, reconciler } = start(() => {
      if (dealt++ === 0) throw new Error('the brokers are away');
      return holdOf();
    });
    await until('it looks', async () => seen.looks > 1);
    await reconciler.stop();
    expect(seen.failures).toEqual([new Error('the brokers are away')]);
  });
});
