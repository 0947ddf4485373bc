import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { findMissing } from '../../bench/large/read-back.ts';
import { sendAll } from '../../bench/large/send-all.ts';
import type { Stack } from '../../stack/stack.ts';
import { startStack } from '../../stack/start-stack.ts';
import { until } from '../../support/until.ts';
import { bodiesFixture, bodiesOf, peakRss, REF, spoolDir } from './bodies-harness.ts';

const MIB = 1024 ** 2;
/** As `hookline topics apply` makes topics of large records. */
const TOPIC_BYTES = 100_000_000;

let stack: Stack;
beforeAll(async () => {
  const env = { ...process.env, HOOKLINE_STACK: 'jvm' };
  stack = await startStack({ env, withRegistry: false, shortLived: true, kafka: { heapMb: 2_048 } });
}, 120_000);
afterAll(() => stack?.stop());

describe('twenty sealed bodies of 50 MB at once, without an object store', () => {
  it('while the broker stands still for 30 s, with a spool: all answered 200 from it, nothing lost', async () => {
    const [node] = stack.kafka?.nodes ?? [];
    const brokers = { brokers: stack.brokers, registryUrl: inject('registryUrl') };
    await using fixture = await bodiesFixture(brokers, TOPIC_BYTES);
    const bodies = bodiesOf(20, 'text');
    const { process, url } = await fixture.ingress({
      SPOOL_DIR: spoolDir(fixture),
      SPOOL_MAX_BYTES: String(2 * 1024 * MIB),
      LOG_LEVEL: 'info',
      // As the senders of this test do: they wait for their turn.
      ADMISSION_WAIT_MS: '120000',
      REQUEST_TIMEOUT_MS: '180000',
    });
    await node?.kill('SIGSTOP');
    const answered: number[] = [];
    const sending = sendAll(new URL(`${url}/webhooks/${REF}`), bodies, ({ signature }) => signature).then(
      (sent) => {
        for (const { status } of sent) answered.push(status ?? 0);
      },
    );
    await until('all are answered while it stands still', () => answered.length === 20, 90_000);
    await sending;
    expect(new Set(answered)).toEqual(new Set([200]));
    await sleep(1_000);
    await node?.kill('SIGCONT');
    const isDrained = async () => /^hookline_spool_deliveries 0$/m.test(await process.metrics());
    await until('the spool is drained', isDrained, 180_000);
    console.log(`the broker stood still, with a spool: peak RSS ${Math.round(peakRss(process) / MIB)} MiB`);
    expect(peakRss(process)).toBeLessThan(1.1e9);
    expect(await findMissing(fixture, bodies)).toEqual([]);
  });
});
