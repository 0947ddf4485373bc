import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import {
  openSpool,
  openStore,
  openWithLiveKeys,
  reportDamage,
} from '../../../src/delivery/store/open-store.ts';
import { type Clock, systemClock } from '../../../src/runtime/clock.ts';
import { createMetrics } from '../../../src/runtime/metrics.ts';
import { Spool } from '../../../src/spool/spool.ts';
import { capturedLog } from '../../support/captured-log.ts';
import { deliveryParts, verified } from '../../support/delivery-parts.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { openFilledSpool, sealingKeysOf } from '../../support/spool-scene.ts';
import { until } from '../../support/until.ts';

/** Opens a store over the spool. @returns how many late deliveries its metric has */
function startStore({ spool, clock, publisher }: { spool: Spool; clock: Clock; publisher: object }) {
  const metrics = createMetrics();
  const context = {
    logger: capturedLog().logger,
    metrics,
    clock,
    probes: { readyWhen() {}, aliveWhen() {} },
    components: { add: <T>(_: string, one: T) => one, fail() {} },
  };
  const deps = { delivery: deliveryParts(), publisher, publishDeadlineMs: 1_000, large: undefined as never };
  const store = openStore(deps as never, spool, context as never);
  onTestFinished(() => store.stop());
  return async () => {
    for (const sample of metrics.samplers) sample();
    return (await metrics.registry.getSingleMetric('hookline_spool_late_total')?.get())?.values[0]?.value;
  };
}

it('events that wait in the spool for longer than a minute are counted as late, each once', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'hookline-open-store-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const receivedAt = verified('{}').receivedAt;
  const clock = manualClock(receivedAt);
  const spool = await Spool.open({ clock, dir, maxBytes: 8 * 1024 ** 2, onDeath: () => {} });
  onTestFinished(() => spool.close());
  await spool.append(verified('{"n":1}'));
  // Kafka does not answer.
  const publisher = {
    publish: () => new Promise<never>(() => {}),
    dropWaiting() {},
    trouble: () => 'no answer',
  };
  const late = startStore({ spool, clock, publisher });
  await clock.advance(59_000);
  await until('a count has been made', async () => (await late()) === 0);
  await until('the disk has answered', () => spool.trouble === null);
  await spool.append({ ...verified('{"n":2}'), receivedAt: receivedAt + 40_000 });
  await clock.advance(20_000);
  await until('the first is late', async () => (await late()) === 1);
  await clock.advance(45_000);
  await until('the second too', async () => (await late()) === 2);
  await clock.advance(300_000);
  expect(await late()).toBe(2);
});

it('what the process before it left for longer than a minute is counted as late, although it is drained at once', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'hookline-open-store-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const clock = manualClock(verified('{}').receivedAt);
  const open = () => Spool.open({ clock, dir, maxBytes: 8 * 1024 ** 2, onDeath: () => {} });
  const left = await open();
  await left.append(verified('{"n":1}'));
  await left.close();
  await clock.advance(3_600_000);
  const spool = await open();
  onTestFinished(() => spool.close());
  const publisher = {
    publish: async () => ({ partition: 0, offset: 0n }),
    dropWaiting() {},
    trouble: () => null,
  };
  const late = startStore({ spool, clock, publisher });
  await until('it is drained', () => spool.outstanding === 0);
  expect(await late()).toBe(1);
});

it('deliveries in the spool that had no seal are told of, once', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'hookline-open-store-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const maxBytes = 8 * 1024 ** 2;
  const clock = manualClock(0);
  const unsealed = await Spool.open({ clock, dir, maxBytes, onDeath: () => {} });
  await unsealed.append(verified('{"n":1}'));
  await unsealed.close();
  const live = { ...sealingKeysOf('a'), onRenewed: () => {} };
  const warnings = async () => {
    const { logger, lines } = capturedLog();
    const components = { add: <T>(_: string, one: T) => one, fail() {} };
    const context = { logger, metrics: createMetrics(), clock, components };
    const spool = await openSpool({ dir, maxBytes }, live as never, context as never);
    await spool?.close();
    return lines()
      .filter(({ msg }) => `${msg}`.includes('had no seal'))
      .map(({ deliveries }) => deliveries);
  };
  expect([await warnings(), await warnings()]).toEqual([[1], []]);
});

it('a damaged log is an error once, also where the file was opened again', () => {
  const { logger, lines } = capturedLog();
  const state = { isDamaged: false, damagedCopy: null as string | null };
  const listeners: (() => void)[] = [];
  const spool = { state, onCounted: (listener: () => void) => void listeners.push(listener) };
  reportDamage(logger, spool as never);
  const texts = () => {
    for (const listener of listeners) listener();
    return lines().map(({ msg }) => `${msg}`);
  };
  expect(texts()).toEqual([]);
  Object.assign(state, { isDamaged: true, damagedCopy: '/spool/log.damaged' });
  expect(texts()).toEqual([
    expect.stringContaining('a copy is in /spool/log.damaged. Have the provider replay'),
  ]);
  expect(texts()).toHaveLength(1);
});

it('keys that change while the spool is opened are used, and those that change later', async () => {
  const listeners: ((keys: ReturnType<typeof sealingKeysOf>) => void)[] = [];
  const live = {
    ...sealingKeysOf('b'),
    onRenewed: (listener: (typeof listeners)[number]) => void listeners.push(listener),
  };
  const open = async () => {
    const filled = await openFilledSpool('{"n":1}');
    await filled.renewKeys(sealingKeysOf('b'));
    // The row is sealed with `a`, which comes back in this moment.
    Object.assign(live, sealingKeysOf('b', 'a'));
    return filled;
  };
  const missing: number[] = [];
  const spool = await openWithLiveKeys(live, open, ({ state }) => missing.push(state.keyMissing));
  expect([spool.outstanding, missing]).toEqual([1, [0]]);
  for (const listener of listeners) listener(sealingKeysOf('b'));
  await until('the key is gone', async () => missing.length === 2);
  expect([spool.outstanding, missing]).toEqual([0, [0, 1]]);
});

it('deliveries that a disk shows again are drained although Kafka was in use', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'hookline-open-store-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const spool = await Spool.open({ clock: systemClock, dir, maxBytes: 8 * 1024 ** 2, onDeath: () => {} });
  onTestFinished(() => spool.close());
  const context = {
    logger: capturedLog().logger,
    metrics: createMetrics(),
    clock: systemClock,
    probes: { readyWhen() {}, aliveWhen() {} },
    components: { add: <T>(_: string, one: T) => one, fail() {} },
  };
  const values: string[] = [];
  const publisher = {
    publish: async ({ value }: { value: Buffer }) => {
      values.push(String(value));
      return { partition: 0, offset: 0n };
    },
    dropWaiting() {},
    trouble: () => null,
  };
  const deps = { delivery: deliveryParts(), publisher, publishDeadlineMs: 1_000, large: undefined as never };
  const store = openStore(deps as never, spool, context as never);
  onTestFinished(() => store.stop());
  // As a row whose commit is on the disk though it has failed.
  await spool.append(verified('{"n":1}'));
  await until('it is drained', async () => spool.outstanding === 0);
  expect(values).toHaveLength(1);
});
