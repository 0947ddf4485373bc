import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { cli } from '../support/cli.ts';
import { ControlFixture } from '../support/control-fixture.ts';
import { postSigned } from '../support/sign.ts';
import { until } from '../support/until.ts';

let the: ControlFixture;

beforeAll(async () => {
  the = await ControlFixture.make(inject('stack'));
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
  /** What the doctor says of the secrets in the topic of subscriptions. */
  const diagnosed = async () => {
    const found: { check: string; finding: string }[] = JSON.parse(
      (await cli(fixture.env, 'doctor', '--json')).out,
    );
    return found.filter(({ check }) => check.startsWith('sealed secrets'));
  };
  const both = await under(`${next}\n${old}\n`);
  expect(await answerOf(both)).toBe(200);
  expect(await diagnosed()).toMatchObject([
    { state: 'ok', finding: '1 of 1 ref(s) can be opened; still sealed with an older key: kept' },
  ]);
  expect(await the.run({ type: 'subscription.update', ref: 'kept' })).toMatchObject({ status: 'SUCCEEDED' });
  expect(await diagnosed()).toMatchObject([{ state: 'ok', finding: '1 of 1 ref(s) can be opened' }]);
  const rotated = await under(`${next}\n`);
  expect(await answerOf(rotated)).toBe(200);
  const { errors, lines } = rotated.process;
  expect([errors, lines.filter(({ level }) => level === 'error')]).toEqual([[], []]);
  // Under a key that is none of them nothing opens: what the test shows hangs on the keys.
  const foreign = await under(randomBytes(32).toString('hex'));
  await until('it is told', () => foreign.process.written().includes('kept'));
  expect(await answerOf(foreign)).toBe(503);
  expect(await diagnosed()).toMatchObject([
    { state: 'ok', finding: '0 of 1 ref(s) can be opened' },
    { check: 'sealed secrets of kept', state: 'FAULT', remedy: expect.stringContaining('SEALING_KEY_FILE') },
  ]);
});

it('without a restart: each process takes up the renewed file, and opens what another had sealed before', async () => {
  const { fixture } = the;
  const path = String(fixture.env.SEALING_KEY_FILE);
  const first = randomBytes(32).toString('hex');
  const second = randomBytes(32).toString('hex');
  writeFileSync(path, first);
  await the.control.stop();
  the.control = await fixture.control(the.urls);
  const ingress = await fixture.ingress();
  await the.run({ type: 'subscription.create', ref: 'renewed', events: ['payment_status'] });
  const count = (process: typeof the.control) =>
    process.lines.filter(({ msg }) => msg === 'changed files loaded').length;
  const loaded = async (keys: string, ...processes: (typeof the.control)[]) => {
    const before = processes.map(count);
    writeFileSync(path, keys);
    await until('all have it', () => processes.every((one, n) => count(one) > (before[n] ?? 0)), 20_000);
  };
  const answerOf = async () => {
    const [mine] = (await the.subscriptions()).filter((one) => one.url.endsWith('/webhooks/renewed'));
    const body = JSON.stringify({ type: 'payment-status', entityId: 'e' });
    const keys = { subscriptionId: String(mine?.id), signingSecret: String(mine?.signingSecret) };
    return (await postSigned(`${ingress.url}/webhooks/renewed`, keys, body)).status;
  };
  expect(await answerOf()).toBe(200);
  await loaded(`${second}\n${first}\n`, the.control, ingress.process);
  expect(await the.run({ type: 'subscription.update', ref: 'renewed' })).toMatchObject({
    status: 'SUCCEEDED',
  });
  await loaded(`${second}\n`, the.control, ingress.process);
  expect(await answerOf()).toBe(200);

  // Control has a key that ingress gets later: what it has sealed meanwhile opens then.
  const third = randomBytes(32).toString('hex');
  const ownPath = fixture.file('sealing-key-of-control', `${third}\n${second}\n`);
  await the.control.stop();
  the.control = await fixture.control(the.urls, { SEALING_KEY_FILE: ownPath });
  expect(await the.run({ type: 'subscription.update', ref: 'renewed' })).toMatchObject({
    status: 'SUCCEEDED',
  });
  await ingress.process.logged('no key of SEALING_KEY_FILE opens the sealed secrets of this ref');
  expect(await answerOf()).toBe(200);
  await loaded(`${third}\n${second}\n`, ingress.process);
  await until('it opens', async () => (await answerOf()) === 200, 10_000);
  await ingress.process.stop();
}, 120_000);
