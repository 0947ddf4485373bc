import { describe, expect, it, onTestFinished } from 'vitest';
import { HooklineError, hasCode } from '../../src/core/errors.ts';
import { createProbes } from '../../src/runtime/admin-server.ts';
import { createStartGate } from '../../src/runtime/start-gate.ts';
import { awaitSubscriptions, startKeyring } from '../../src/subscriptions/start-keyring.ts';
import { quietContext } from '../simulation/engine/quiet-context.ts';
import { capturedLog } from '../support/captured-log.ts';
import { manualClock } from '../support/manual-clock.ts';
import { until } from '../support/until.ts';

/** A start whose reading of the topic is interrupted by these, one within each 12 s. */
function waiting(interruptions: readonly (Error | undefined)[], withSpool: boolean) {
  const clock = manualClock(0);
  const probes = createProbes();
  const backoff = { firstMs: 1, factor: 1, maxMs: 1 };
  const { logger } = capturedLog();
  const gate = createStartGate({ logger, probes, stopping: new AbortController().signal, backoff });
  const left = [...interruptions];
  const read = Promise.withResolvers<void>();
  const keys = { topicRead: read.promise, takeInterruption: () => left.shift() };
  const mayStartWithout = (error: unknown) => withSpool && !hasCode(error, 'KAFKA_REFUSED');
  const outcome = awaitSubscriptions(keys, { mayStartWithout }, { gate, clock });
  return { clock, read, outcome, readiness: () => probes.readiness().reasons.start, left };
}

const unavailable = () => new HooklineError('KAFKA_UNAVAILABLE', 'b:9092: no answer in time');
const refused = () => new HooklineError('KAFKA_REFUSED', 'payments.subscriptions');

describe('the start, while the topic of subscriptions is read', () => {
  it('goes on when it is read', async () => {
    const { read, outcome } = waiting([], false);
    read.resolve();
    expect(await outcome).toBe(true);
  });

  it('goes on without it where brokers that answered do not let it be read, with a spool', async () => {
    const { clock, outcome } = waiting([unavailable()], true);
    await clock.advance(12_000);
    expect(await outcome).toBe(false);
  });

  it('waits longer where nothing interrupts it', async () => {
    const { clock, read, outcome, left } = waiting([undefined, undefined], true);
    await clock.advance(12_000);
    await until('it was asked what interrupts it', () => left.length === 1);
    read.resolve();
    expect(await outcome).toBe(true);
  });

  it.each([
    [
      'without a spool',
      unavailable(),
      false,
      /^waiting for the subscriptions topic: KAFKA_UNAVAILABLE: .*b:9092/,
    ],
    ['which an operator must correct, with a spool', refused(), true, /^waiting for .*: KAFKA_REFUSED: /],
  ])('waits, and readiness says what interrupts it: %s', async (_, error, withSpool, reason) => {
    const { clock, read, outcome, readiness } = waiting([error], withSpool);
    expect(readiness()).toBe('waiting for the subscriptions topic');
    await clock.advance(12_000);
    await until('readiness says why', () => reason.test(readiness() ?? ''));
    read.resolve();
    expect(await outcome).toBe(true);
  });

  it('ends with an error of the reading itself', async () => {
    const { read, outcome } = waiting([], true);
    read.reject(new Error('stopped'));
    await expect(outcome).rejects.toThrow('stopped');
  });

  it('goes on without it where brokers that answered have gone before it is open, with a spool', async () => {
    const clock = manualClock(0);
    const stopping = new AbortController();
    onTestFinished(() => stopping.abort());
    const backoff = { firstMs: 1, factor: 1, maxMs: 1 };
    const { logger } = capturedLog();
    const gate = createStartGate({ logger, probes: createProbes(), stopping: stopping.signal, backoff });
    const fetcher = { lookUp: () => Promise.reject(unavailable()), close: () => {} };
    const keys = await startKeyring(
      {
        settings: { secretsDir: undefined, sealingKeyFile: undefined, retiredKeysTtlMs: 1_000 },
        sealingKeys: undefined,
        openTopic: () => fetcher as never,
        topic: 'payments.subscriptions',
        read: undefined as never,
        gate,
      },
      quietContext(clock),
    );
    let outcome: boolean | undefined;
    void awaitSubscriptions(keys, { mayStartWithout: () => true }, { gate, clock }).then((isRead) => {
      outcome = isRead;
    });
    for (let seconds = 0; seconds < 60 && outcome === undefined; seconds++) await clock.advance(1_000);
    expect(outcome).toBe(false);
  });
});
