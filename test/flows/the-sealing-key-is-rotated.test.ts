import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { ControlFixture } from '../support/control-fixture.ts';
import { until } from '../support/until.ts';

let the: ControlFixture;

beforeAll(async () => {
  the = await ControlFixture.make({ brokers: inject('brokers'), registryUrl: inject('registryUrl') });
});

afterAll(() => the[Symbol.asyncDispose]());

it('a rotated sealing key leaves every webhook verified and opened; the old one can go when each ref was updated', async () => {
  const { fixture } = the;
  await the.run({ type: 'subscription.create', ref: 'kept', events: ['payment_status'] });
  const path = String(fixture.env.SEALING_KEY_FILE);
  const old = readFileSync(path, 'utf8').trim();
  const next = randomBytes(32).toString('hex');
  /** Control, and an ingress beside the one that is there, under other sealing keys. */
  const under = async (keys: string) => {
    writeFileSync(path, keys);
    await the.control.stop();
    the.control = await fixture.control(the.urls);
    return fixture.ingress();
  };
  /** What an ingress answers to a webhook as the provider sends it. */
  const answerOf = async ({ url }: { url: string }) => {
    const [mine] = (await the.subscriptions()).filter((one) => one.url.endsWith('/webhooks/kept'));
    const { id, signingSecret, encryptionKey } = mine ?? expect.fail('not there');
    const json = { id, signingSecret, encryptionKey, events: ['payment_status'] };
    await the.sandbox.call('POST', '/_sandbox/subscriptions', {
      json: { ...json, url: `${url}/webhooks/kept` },
    });
    const [sent] = await the.trigger({ ref: 'kept', sealed: true });
    await the.sandbox.call('POST', '/_sandbox/subscriptions', { json: { ...json, url: mine?.url } });
    return sent?.status;
  };
  const both = await under(`${next}\n${old}\n`);
  expect(await answerOf(both)).toBe(200);
  expect(await the.run({ type: 'subscription.update', ref: 'kept' })).toMatchObject({ status: 'SUCCEEDED' });
  const rotated = await under(`${next}\n`);
  expect(await answerOf(rotated)).toBe(200);
  const { errors, lines } = rotated.process;
  expect([errors, lines.filter(({ level }) => level === 'error')]).toEqual([[], []]);
  // Under a key that is none of them nothing opens: what the test shows hangs on the keys.
  const foreign = await under(randomBytes(32).toString('hex'));
  await until('it is told', () => foreign.process.written().includes('kept'));
  expect(await answerOf(foreign)).toBe(401);
});
