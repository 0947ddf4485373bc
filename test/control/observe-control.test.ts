import { expect, it } from 'vitest';
import { observeControl } from '../../src/control/observe-control.ts';
import { HooklineError } from '../../src/core/errors.ts';
import { createMetrics } from '../../src/runtime/metrics.ts';
import { capturedLog } from '../support/captured-log.ts';
import { manualClock } from '../support/manual-clock.ts';

/** What is told, and where its lines are. */
function observed() {
  const log = capturedLog();
  const metrics = createMetrics({ ofNode: false });
  return { log, ...observeControl({ logger: log.logger, metrics, clock: manualClock() }) };
}

it('counts comparisons with the provider that fail, until one does not', async () => {
  const metrics = createMetrics({ ofNode: false });
  const { reconciler } = observeControl({ logger: capturedLog().logger, metrics, clock: manualClock() });
  const failed = async () =>
    (await metrics.registry.getSingleMetric('hookline_comparisons_failed')?.get())?.values.map(
      ({ value }) => value,
    );
  expect(await failed()).toEqual([0]);
  for (let n = 0; n < 3; n++) reconciler.onFailure(new Error('the list is empty'));
  expect(await failed()).toEqual([3]);
  reconciler.onCompared([]);
  expect(await failed()).toEqual([0]);
  reconciler.onFailure(new Error('the list is empty'));
  reconciler.onStandby();
  expect(await failed()).toEqual([0]);
});

it('tells that the brokers refuse the commands where they do, and of nothing else that comes between', () => {
  const { log, reader } = observed();
  reader.onRefused(new HooklineError('KAFKA_REFUSED', 't: this user may not read it'));
  reader.onRefused(new Error('Unknown topic t.'));
  reader.onRefused(null);
  expect(log.lines().map(({ msg }) => msg)).toEqual([
    'commands are not read: the brokers refuse the credentials or a right, trying again',
    expect.stringMatching(/^commands are not read, trying again; if a topic is missing/),
    'commands are read again',
  ]);
});

it.each(['onInterrupted', 'onRefused'] as const)(
  'tells in one line, without a stack, why nothing is read where that is known (%s)',
  (tells) => {
    const { log, reader } = observed();
    reader[tells](new HooklineError('KAFKA_UNAVAILABLE', 'none is ready'));
    reader[tells](new Error('another fault'));
    expect(log.lines()).toMatchObject([
      { why: 'the brokers cannot be reached (none is ready)', msg: 'commands are not read, trying again' },
      { err: { message: 'another fault', stack: expect.any(String) } },
    ]);
    expect(log.lines()[0]).not.toHaveProperty('err');
  },
);

it('is not ready while the brokers refuse to have a topic of its own read or written, and for no other failure', async () => {
  const clock = manualClock();
  const metrics = createMetrics({ ofNode: false });
  const { refused, state, records } = observeControl({ logger: capturedLog().logger, metrics, clock });
  const stored = (topic: string) => records.onStored({ topic, partition: 0, offset: 0n });
  const remedy = 'grant Write on results to the user that Hookline logs in as';
  state.onBrokenOff(new Error('the connection was closed'), 'results');
  records.onDelay('results', new HooklineError('PUBLISH_DEADLINE'));
  expect(refused()).toBeNull();
  records.onDelay('results', new HooklineError('PUBLISH_REFUSED', 'denied', { remedy }));
  expect(refused()).toBe(`PUBLISH_REFUSED: the brokers refuse the record (denied): ${remedy}`);
  stored('subscriptions');
  expect(refused()).toContain(remedy);
  stored('results');
  expect(refused()).toBeNull();
  state.onBrokenOff(new HooklineError('KAFKA_REFUSED', 'results: this user may not read it'), 'results');
  // Written it can be.
  stored('results');
  await clock.advance(29_999);
  expect(refused()).toMatch(/^KAFKA_REFUSED: .*results: this user may not read it/);
  await clock.advance(1);
  expect(refused()).toBeNull();
});

it('is not ready while its topic does not take a record, whatever smaller ones are stored meanwhile', async () => {
  const clock = manualClock();
  const metrics = createMetrics({ ofNode: false });
  const { refused, records } = observeControl({ logger: capturedLog().logger, metrics, clock });
  records.onDelay('results', new HooklineError('RECORD_TOO_LARGE', 'results', { remedy: 'raise it' }));
  records.onStored({ topic: 'results', partition: 0, offset: 0n });
  await clock.advance(29_999);
  expect(refused()).toBe('RECORD_TOO_LARGE: the record is larger than its topic takes (results): raise it');
  await clock.advance(1);
  expect(refused()).toBeNull();
});

it('tells at its start which commands nobody will read, or that this is not known', () => {
  const { log, unreadGaps, unknownGaps } = observed();
  unreadGaps([
    { topic: 't', partition: 0, kind: 'deleted', from: 1, to: 2 },
    { topic: 't', partition: 1, kind: 'unknown', to: 2 },
    { topic: 't', partition: 2, kind: 'end lost', from: 7, end: 5 },
  ]);
  unknownGaps(new Error('no leader'));
  expect(log.lines()).toEqual([
    expect.objectContaining({
      partition: 0,
      from: 1,
      to: 2,
      msg: expect.stringMatching(/^the commands of these offsets were deleted/),
    }),
    expect.objectContaining({ partition: 1, to: 2, msg: expect.stringContaining('do not know whether') }),
    expect.objectContaining({ partition: 2, from: 7, end: 5, msg: expect.stringContaining('ends before') }),
    expect.objectContaining({
      level: 'warn',
      why: 'no leader',
      msg: expect.stringMatching(/^it is not known whether commands were deleted/),
    }),
  ]);
});
