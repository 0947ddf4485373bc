import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { until } from '../../support/until.ts';
import { openReceiver } from '../support/open-receiver.ts';
import { openSandbox } from '../support/open-sandbox.ts';

async function deliverWith(fault: object, options: Parameters<typeof openSandbox>[0] = {}) {
  const receiver = await openReceiver();
  const sandbox = await openSandbox(options);
  await sandbox.seed(receiver.url);
  expect((await sandbox.fail({ operation: 'delivery', ...fault })).status).toBe(200);
  const { json } = await sandbox.trigger({ wait: 'final' });
  return {
    received: receiver.received,
    execution: json.executions[0],
    statuses: json.executions[0].attempts.map((attempt: { status: number | null }) => attempt.status),
    async [Symbol.asyncDispose]() {
      await sandbox.stop();
      await receiver[Symbol.asyncDispose]();
    },
  };
}

describe('a fault of a delivery', () => {
  it('drop-before: the receiver gets nothing, and then the repeat', async () => {
    await using run = await deliverWith({ kind: 'drop-before' });
    expect(run.statuses).toEqual([null, 200]);
    expect(run.received).toHaveLength(1);
  });

  it('drop-after: the receiver gets it twice', async () => {
    await using run = await deliverWith({ kind: 'drop-after' });
    expect(run.statuses).toEqual([null, 200]);
    expect(run.received.map((one) => one.body.toString())).toEqual(Array(2).fill(run.execution.sentBody));
  });

  it('status: counts as answered so, with or without effect', async () => {
    await using without = await deliverWith({ kind: 'status', code: 500 });
    expect([without.statuses, without.received.length]).toEqual([[500, 200], 1]);
    await using withEffect = await deliverWith({ kind: 'status', code: 500, effect: true });
    expect([withEffect.statuses, withEffect.received.length]).toEqual([[500, 200], 2]);
  });

  it('truncated-body: the receiver gets half of it, and sees that it is half', async () => {
    await using run = await deliverWith({ kind: 'truncated-body' });
    expect(run.statuses).toEqual([null, 200]);
    await until('both have ended', () => run.received.length === 2);
    const [half, whole] = [...run.received].sort((a, b) => a.body.length - b.body.length);
    expect([half?.whole, whole?.whole]).toEqual([false, true]);
    expect(half?.headers['content-length']).toBe(String(whole?.body.length));
    expect(half?.body.length).toBeLessThan(whole!.body.length);
  });

  it('hang: the second half never comes, until the deadline', async () => {
    await using run = await deliverWith({ kind: 'hang' }, { deliveryTimeoutMs: 100 });
    expect(run.execution.attempts[0]).toMatchObject({ status: null, error: 'no answer within 100 ms' });
    await until('both have ended', () => run.received.length === 2);
    expect(run.received.some((one) => !one.whole && one.body.length > 0)).toBe(true);
  });

  it('slow-body: comes in pieces, and whole', async () => {
    const slept: number[] = [];
    const clock = { ...systemClock, sleep: async (ms: number) => void slept.push(ms) };
    await using run = await deliverWith({ kind: 'slow-body', ms: 30, pieces: 3 }, { clock });
    expect(run.statuses).toEqual([200]);
    expect(slept).toEqual([30, 30]);
    expect(run.received[0]?.body.toString()).toBe(run.execution.sentBody);
  });

  it('delay: comes later, without using up the receiver’s time', async () => {
    await using run = await deliverWith({ kind: 'delay', ms: 1_500 }, { deliveryTimeoutMs: 1_000 });
    expect(run.statuses).toEqual([200]);
  });
});
