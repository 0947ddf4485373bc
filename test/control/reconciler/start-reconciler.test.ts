import { expect, it } from 'vitest';
import { ReportedDrift } from '../../../src/control/reconciler/reported-drift.ts';
import { createReconciler, type ReconcilerDeps } from '../../../src/control/reconciler/start-reconciler.ts';
import { type Lease, leaseOf } from '../../../src/core/lease.ts';
import { manualClock } from '../../support/manual-clock.ts';

const INTERVAL_MS = 300_000;

/** A reconciler whose comparisons are counted, and whose leases the test gives. */
function open(
  compare: (signal: AbortSignal) => void | Promise<void> = () => {},
  mode: ReconcilerDeps['mode'] = 'off',
) {
  const clock = manualClock();
  const seen = { comparisons: 0, standbys: 0, failures: [] as unknown[] };
  const reconciler = createReconciler({
    ...({ mode, retired: { liveMs: 0, keptMs: 0 } } as ReconcilerDeps),
    subscriptions: {
      all: () => [],
      get: () => undefined,
      async caughtUp(signal) {
        seen.comparisons++;
        await compare(signal);
      },
    },
    clock,
    intervalMs: INTERVAL_MS,
    onStandby: () => void seen.standbys++,
    onFailure: (error) => void seen.failures.push(error),
  });
  const work = () => {
    const end = new AbortController();
    reconciler.working(leaseOf(end.signal));
    return end;
  };
  return { seen, reconciler, clock, work, pass: (times: number) => clock.advance(times * INTERVAL_MS) };
}

it('a process that stands by compares nothing', async () => {
  const { seen, reconciler, pass } = open();
  reconciler.working(null);
  await pass(3);
  expect(seen).toEqual({ comparisons: 0, standbys: 1, failures: [] });
});

it('the process that works compares once per interval, beginning one interval later', async () => {
  const { seen, reconciler, clock, work, pass } = open();
  work();
  await clock.advance(INTERVAL_MS - 1);
  expect(seen.comparisons).toBe(0);
  await clock.advance(1);
  expect(seen.comparisons).toBe(1);
  await pass(2);
  expect(seen.comparisons).toBe(3);
  await reconciler.stop();
});

it('the end of the lease is the end of the comparisons, and of what they show', async () => {
  const { seen, work, pass } = open();
  const end = work();
  await pass(1);
  end.abort();
  await pass(3);
  expect(seen).toEqual({ comparisons: 1, standbys: 2, failures: [] });
  work();
  await pass(1);
  expect(seen).toMatchObject({ comparisons: 2, standbys: 2 });
});

it('a lease that has ended without notice is noticed before anything is compared', async () => {
  const { seen, reconciler, pass } = open();
  const end = new AbortController();
  // As after a freeze: whoever checks learns of the end.
  const frozen: Lease = {
    signal: end.signal,
    check() {
      end.abort();
      end.signal.throwIfAborted();
    },
  };
  reconciler.working(frozen);
  await pass(2);
  expect(seen).toEqual({ comparisons: 0, standbys: 2, failures: [] });
});

it('a comparison that came to nothing is reported, and the next one comes all the same', async () => {
  const fault = new Error('the brokers are unavailable');
  const { seen, reconciler, work, pass } = open(() => {
    if (seen.comparisons === 1) throw fault;
  });
  work();
  await pass(2);
  expect([seen.comparisons, seen.failures]).toEqual([2, [fault]]);
  await reconciler.stop();
});

it('a comparison under way is waited for by the next lease, and by the stop', async () => {
  const underWay = Promise.withResolvers<void>();
  const { seen, reconciler, work, pass } = open(() => underWay.promise);
  const end = work();
  await pass(1);
  end.abort();
  work();
  await pass(2);
  expect(seen.comparisons).toBe(1);
  let hasStopped = false;
  const stopping = reconciler.stop().then(() => {
    hasStopped = true;
  });
  await pass(1);
  expect(hasStopped).toBe(false);
  underWay.resolve();
  await stopping;
  expect(seen).toMatchObject({ comparisons: 1, failures: [] });
});

it('a comparison that comes to no end, as where a topic cannot be read, is reported, and the next one comes all the same', async () => {
  const untilAborted = (signal: AbortSignal) =>
    new Promise<void>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  const { seen, reconciler, work, pass } = open(untilAborted, 'report');
  work();
  await pass(5);
  expect(seen).toMatchObject({ comparisons: 3, failures: Array(2).fill(expect.any(Error)) });
  expect(String(seen.failures[0])).toContain('came to no end within 300 s');
  await reconciler.stop();
  expect(seen.failures).toHaveLength(2);
});

it('a comparison goes on however long the commands before it take, as where a topic takes none of them', async () => {
  const clock = manualClock();
  const seen = { lists: 0, unsent: 0, failures: [] as unknown[] };
  const retired = Array.from({ length: 100 }, (_, n) => ({
    ref: `r${n}`,
    owner: 'ledger.commands',
    commandId: `c${n}`,
    state: 'RETIRED',
    updatedAt: n,
    events: [],
  }));
  const reconciler = createReconciler({
    ...({
      mode: 'report',
      retired: { liveMs: 0, keptMs: 0 },
      reported: new ReportedDrift(),
      subscriptions: { all: () => retired, caughtUp: async () => {} },
      finished: { caughtUp: async () => {} },
      clock,
      intervalMs: INTERVAL_MS,
      newId: () => 'x',
      onStandby() {},
      onCompared() {},
    } as unknown as ReconcilerDeps),
    api: {
      async list() {
        seen.lists++;
        return { judgement: 'done', items: [], status: 200, why: '' } as never;
      },
    },
    async send() {
      await clock.sleep(15_000);
      throw new Error('no confirmation');
    },
    onUnsent: () => void seen.unsent++,
    onFailure: (error) => void seen.failures.push(error),
  });
  reconciler.working(leaseOf(new AbortController().signal));
  await clock.advance(INTERVAL_MS + 100 * 15_000);
  expect(seen).toEqual({ lists: 1, unsent: 100, failures: [] });
  const stopping = reconciler.stop();
  await clock.advance(INTERVAL_MS);
  await stopping;
});
