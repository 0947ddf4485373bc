import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../support/until.ts';
import { judgeMix, mixCommands, outOfOrder } from './control/command-mix.ts';
import { type ControlKit, openControlKit } from './control/control-kit.ts';
import { createRandom } from './random.ts';

const OUTAGE_MS = 60_000;
/** Sent while the breaker is open, for refs of their own. */
const LATE = Array.from({ length: 10 }, (_, n) => `meanwhile-${n}`);
let kit: ControlKit;

beforeAll(async () => {
  kit = await openControlKit();
});

afterAll(() => kit?.[Symbol.asyncDispose]());

it('while the provider is unavailable for 60 s none of 200 commands fails; all settle, in order per ref', async () => {
  const control = kit.start();
  await control.logged('reading commands');
  const metric = async (name: string) =>
    Number(
      new RegExp(`^${name} (.+)$`, 'm').exec(
        await (await fetch(`${await control.adminUrl()}/metrics`)).text(),
      )?.[1],
    );
  const mix = mixCommands({ random: createRandom(1, 'outage'), count: 200, refs: 20, name: 'outage' });
  const send = async (commands: typeof mix.sent) => {
    for (const command of commands) {
      await kit.send(command);
      await sleep(50);
    }
  };
  await send(mix.sent.slice(0, 70));
  kit.provider.setUnavailable(true);
  await send(mix.sent.slice(70, 140));
  await until(
    'the breaker is open',
    async () => (await metric('hookline_provider_breaker_open')) === 1,
    30_000,
  );
  // What was answered just before has its result.
  await sleep(OUTAGE_MS / 4);
  const told = kit.allResults().length;
  const lag = await kit.lag();
  expect(told).toBeLessThan(140);
  for (const commandId of LATE)
    await kit.send({ commandId, type: 'subscription.create', ref: commandId, events: ['payment-status'] });
  await sleep((OUTAGE_MS * 3) / 4);
  // They wait in Kafka: none is done, none has failed.
  expect(await kit.lag()).toBe(lag + LATE.length);
  expect(kit.allResults()).toHaveLength(told);
  kit.provider.setUnavailable(false);
  await send(mix.sent.slice(140));
  await kit.settled([...mix.sent.map(({ commandId }) => commandId), ...LATE], 120_000);
  expect(await metric('hookline_provider_breaker_open')).toBe(0);
  expect(await judgeMix(kit, mix)).toEqual([]);
  expect(outOfOrder(kit, mix.sent)).toEqual([]);
  expect(kit.allResults().filter(({ status }) => status === 'FAILED')).toEqual([]);
  expect(LATE.flatMap((id) => kit.results(id).map(({ status }) => status))).toEqual(
    LATE.map(() => 'SUCCEEDED'),
  );
  await control.stop();
});

describe('longer than COMMAND_DEADLINE_MS', () => {
  it('it is unavailable: the commands have FAILED with the reason; when it is back the next go on', async () => {
    const control = kit.start({ COMMAND_DEADLINE_MS: '9000' });
    await control.logged('reading commands');
    kit.provider.setUnavailable(true);
    const ids = Array.from({ length: 12 }, (_, n) => `late-${n}`);
    for (const id of ids)
      await kit.send({ commandId: id, type: 'subscription.create', ref: id, events: ['payment-status'] });
    await kit.settled(ids);
    for (const id of ids)
      expect(kit.results(id)).toMatchObject([
        {
          status: 'FAILED',
          errorCode: 'PROVIDER_UNAVAILABLE',
          message: expect.stringMatching(/not answer/),
        },
      ]);
    kit.provider.setUnavailable(false);
    await kit.send({
      commandId: 'back',
      type: 'subscription.create',
      ref: 'late-0',
      events: ['payment-status'],
    });
    await kit.settled(['back']);
    expect(kit.results('back')).toMatchObject([{ status: 'SUCCEEDED' }]);
    await control.stop();
  });
});
