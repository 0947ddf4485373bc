import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { LargeBody, Shape } from '../../bench/large/bodies.ts';
import { type Sent, sendAll } from '../../bench/large/send-all.ts';
import { type RunningStore, startS3Mock } from '../../support/object-store/s3-bucket.ts';
import type { Fixture } from '../../support/topics-fixture.ts';
import { until } from '../../support/until.ts';
import {
  bodiesFixture,
  bodiesOf,
  eventsByEntity,
  faultsOf,
  peakRss,
  REF,
  spoolDir,
} from './bodies-harness.ts';

const MIB = 1024 ** 2;
const GB = 1e9;

let store: RunningStore;
const bodies = new Map<Shape, LargeBody[]>();

beforeAll(async () => {
  store = await startS3Mock();
  for (const shape of ['text', 'list'] as const) bodies.set(shape, bodiesOf(20, shape));
}, 300_000);
afterAll(() => store?.[Symbol.asyncDispose]());

const of = (shape: Shape) => bodies.get(shape) ?? [];
const send = (ingressUrl: string, some: readonly LargeBody[]): Promise<Sent[]> =>
  sendAll(new URL(`${ingressUrl}/webhooks/${REF}`), some, ({ signature }) => signature);
const statuses = (sent: readonly Sent[]) =>
  Object.entries(Object.groupBy(sent, ({ status }) => String(status))).map(
    ([status, all]) => `${status}: ${all?.length}`,
  );

describe('twenty sealed bodies of 50 MB at once', () => {
  it.each([
    ['1 MiB', 1_048_588, 'text'],
    ['1 MiB', 1_048_588, 'list'],
    ['8 MiB', 8 * MIB, 'list'],
  ] as const)(
    'on topics of %s (%i bytes, %s) are all stored: typed, referred to, exact to the byte',
    async (_, topicBytes, shape) => {
      await using fixture = await bodiesFixture(inject('stack'), topicBytes);
      const { process, url } = await fixture.ingress({ ...store.env, LOG_LEVEL: 'info' });
      const start = performance.now();
      const sent = await send(url, of(shape));
      console.log(
        `${shape}, ${topicBytes}: ${statuses(sent)} in ${((performance.now() - start) / 1_000).toFixed(1)} s, peak RSS ${Math.round(peakRss(process) / MIB)} MiB`,
      );
      expect(statuses(sent)).toEqual(['200: 20']);
      expect(peakRss(process)).toBeLessThan(GB);
      expect(await faultsOf(of(shape), await eventsByEntity(fixture, 20), store)).toEqual([]);
    },
  );

  it('while the store is stopped for 30 s, with a spool: all answered 200, nothing lost', async () => {
    await using fixture = await bodiesFixture(inject('stack'), 1_048_588);
    const { process, url } = await fixture.ingress({
      ...store.env,
      SPOOL_DIR: spoolDir(fixture),
      SPOOL_MAX_BYTES: String(2 * 1024 * MIB),
      // Large ones that wait for memory meanwhile are answered 503 by ADMISSION_WAIT_MS, not because of the store.
      ADMISSION_WAIT_MS: '120000',
      REQUEST_TIMEOUT_MS: '180000',
      LOG_LEVEL: 'info',
    });
    const sending = send(url, of('text'));
    await sleep(1_500);
    await store.kill();
    await sleep(30_000);
    await store.start();
    const sent = await sending;
    expect(statuses(sent)).toEqual(['200: 20']);
    await until(
      'the spool is drained',
      async () => /^hookline_spool_deliveries 0$/m.test(await process.metrics()),
      180_000,
    );
    console.log(
      `the store stopped for 30 s, with a spool: peak RSS ${Math.round(peakRss(process) / MIB)} MiB`,
    );
    expect(peakRss(process)).toBeLessThan(GB);
    expect(await faultsOf(of('text'), await eventsByEntity(fixture, 20), store)).toEqual([]);
  });

  it('while the store is stopped for 30 s, without a spool: 200 or 503 in time, and what was acknowledged is there', async () => {
    await using fixture = await bodiesFixture(inject('stack'), 1_048_588);
    const { process, url } = await fixture.ingress({ ...store.env, LOG_LEVEL: 'info' });
    await store.kill();
    const sent = await send(url, of('text'));
    expect(sent.every(({ status }) => status === 503)).toBe(true);
    // The store's deadline, and the time until a body is read.
    expect(Math.max(...sent.map(({ seconds }) => seconds))).toBeLessThan(45);
    expect(peakRss(process)).toBeLessThan(GB);
    await store.start();
    const again = await until(
      'all are taken again',
      async () => {
        const answers = await send(url, of('text').slice(0, 4));
        return answers.every(({ status }) => status === 200) ? answers : null;
      },
      120_000,
    );
    expect(again).toHaveLength(4);
    expect(await faultsOf(of('text').slice(0, 4), await eventsByEntity(fixture, 4), store)).toEqual([]);
  });
});

describe('ingress killed fifty times', () => {
  it('loses nothing that it acknowledged, while the store comes and goes', async () => {
    await using fixture = await bodiesFixture(inject('stack'), 1_048_588);
    const env = {
      ...store.env,
      SPOOL_DIR: spoolDir(fixture),
      BODY_STORE_DEADLINE_MS: '1000',
      LOG_LEVEL: 'info',
    };
    const acknowledged = new Set<LargeBody>();
    const some = of('text').slice(0, 6);
    let ingress = await fixture.ingress(env);
    for (let kill = 0; kill < 50; kill++) {
      const body = some[kill % some.length] as LargeBody;
      if (kill % 10 === 3) await store.kill();
      if (kill % 10 === 7) await store.start();
      const sending = send(ingress.url, [body]);
      // Anywhere between the first byte and the answer.
      const waited = await Promise.race([sending, sleep(Math.random() * 1_500, null)]);
      ingress.process.kill('SIGKILL');
      await ingress.process.end();
      const [answer] = waited ?? (await sending);
      if (answer?.status === 200) acknowledged.add(body);
      ingress = await restarted(fixture, env);
    }
    await store.start();
    for (const body of some) {
      const [answer] = await until(
        'it is taken',
        async () => {
          const answers = await send(ingress.url, [body]);
          return answers[0]?.status === 200 ? answers : null;
        },
        60_000,
      );
      if (answer?.status === 200) acknowledged.add(body);
    }
    await until(
      'the spool is drained',
      async () => /^hookline_spool_deliveries 0$/m.test(await ingress.process.metrics()),
      180_000,
    );
    expect(
      await faultsOf([...acknowledged], await eventsByEntity(fixture, acknowledged.size), store),
    ).toEqual([]);
  });
});

/** The spool's lock goes with the process that had it, which a kill may leave for a moment. */
const restarted = (fixture: Fixture, env: Record<string, string>) => fixture.ingress(env);
