import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { drainSpool } from '../../../src/delivery/store/drain-spool.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { Spool } from '../../../src/spool/spool.ts';
import { deliveryParts, verified } from '../../support/delivery-parts.ts';
import { sealingKeysOf } from '../../support/spool-scene.ts';
import { until } from '../../support/until.ts';

/** So long a drain looks for more before it ends. */
const LONGER_MS = 800;

/** A spool with one message. */
async function openSpool(): Promise<Spool> {
  const dir = mkdtempSync(join(tmpdir(), 'hookline-drain-'));
  const onDeath = (error: Error) => expect.fail(error.message);
  const sealingKeys = sealingKeysOf('a');
  const spool = await Spool.open({ dir, maxBytes: 1e8, clock: systemClock, onDeath, sealingKeys });
  onTestFinished(async () => {
    await spool.close();
    rmSync(dir, { recursive: true });
  });
  await spool.append(verified('{"type":"payment-status","entityId":"e","n":1}'));
  return spool;
}

it('begins again after an error that no part of it has foreseen, as nobody else would empty the spool', async () => {
  const spool = await openSpool();
  const failures: unknown[] = [];
  const unforeseen = new TypeError('unforeseen');
  let isNew = true;
  const drained = await drainSpool({
    ...{ spool, delivery: deliveryParts(), stopping: new AbortController().signal },
    clock: { ...systemClock, sleep: (_ms, options) => systemClock.sleep(1, options) },
    observer: { drainFailed: (error) => void failures.push(error) },
    onNearlyEmpty() {
      if (!isNew) return;
      isNew = false;
      throw unforeseen;
    },
    send: async ({ topic }) => ({ topic, partition: 0, offset: 0n }),
  });
  expect([drained, failures, spool.outstanding]).toEqual([1, [unforeseen], 0]);
});

it('ends with such an error when the process stops', async () => {
  const spool = await openSpool();
  const stopping = new AbortController();
  const drained = drainSpool({
    ...{ spool, delivery: deliveryParts(), stopping: stopping.signal, clock: systemClock },
    observer: { drainFailed: () => stopping.abort(new Error('stopping')) },
    onNearlyEmpty() {
      throw new TypeError('unforeseen');
    },
    send: () => expect.fail('nothing is sent'),
  });
  await expect(drained).rejects.toThrow('stopping');
});

it('does not end while a row is in progress whose sealing key is taken away: the next drain would begin it once more', async () => {
  const spool = await openSpool();
  const confirmed = Promise.withResolvers<void>();
  let sent = 0;
  let hasEnded = false;
  const drained = drainSpool({
    ...{ spool, delivery: deliveryParts(), clock: systemClock, observer: { drainFailed() {} } },
    stopping: new AbortController().signal,
    async send({ topic }) {
      sent++;
      await confirmed.promise;
      return { topic, partition: 0, offset: 0n };
    },
  }).finally(() => {
    hasEnded = true;
  });
  await until('the row is in progress', () => sent === 1);
  await spool.renewKeys(sealingKeysOf('b'));
  expect(spool.outstanding).toBe(0);
  await new Promise((resolve) => setTimeout(resolve, LONGER_MS));
  expect([hasEnded, sent]).toEqual([false, 1]);
  confirmed.resolve();
  expect(await drained).toBe(1);
});
