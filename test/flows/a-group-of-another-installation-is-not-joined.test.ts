import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { type RunningSandbox, startSandbox } from '../../src/sandbox/start-sandbox.ts';
import { readiness } from '../support/secure/secure-fixture.ts';
import { Fixture } from '../support/topics-fixture.ts';
import { until } from '../support/until.ts';

let sandbox: RunningSandbox;
let [one, other]: Fixture[] = [];

beforeAll(async () => {
  const stack = { brokers: inject('brokers'), registryUrl: inject('registryUrl') };
  sandbox = await startSandbox({ port: 0 });
  [one, other] = [await Fixture.make(stack), await Fixture.make(stack)];
});

afterAll(async () => {
  await Promise.all([one, other].map((fixture) => fixture?.[Symbol.asyncDispose]()));
  await sandbox?.stop();
});

it('control waits, says whose group it is, and begins when that installation has ended', async () => {
  if (!one || !other) return expect.fail('no fixtures');
  const CONTROL_GROUP_ID = `${one.prefix}-shared`;
  const urls = { provider: sandbox.url, publicUrl: 'http://127.0.0.1:9' };
  const first = await one.control(urls, { CONTROL_GROUP_ID });
  const second = other.start('src/control/main.ts', { ...other.controlEnv(urls), CONTROL_GROUP_ID });
  const admin = await second.adminUrl();
  const waiting = `works for another installation, at [^ ]+, which reads ${one.topic('commands')}`;
  await until('it waits', async () => new RegExp(waiting).test((await readiness(admin)).reasons));
  expect((await readiness(admin)).status).toBe(503);
  await first.stop();
  await second.logged('reading commands');
});
