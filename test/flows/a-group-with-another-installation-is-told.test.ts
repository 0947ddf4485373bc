import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { type RunningSandbox, startSandbox } from '../../src/sandbox/start-sandbox.ts';
import { cli } from '../support/cli.ts';
import { Fixture } from '../support/topics-fixture.ts';
import { until } from '../support/until.ts';

let sandbox: RunningSandbox;
let [one, other]: Fixture[] = [];

beforeAll(async () => {
  const stack = inject('stack');
  sandbox = await startSandbox({ port: 0 });
  [one, other] = [await Fixture.make(stack), await Fixture.make(stack)];
});

afterAll(async () => {
  await Promise.all([one, other].map((fixture) => fixture?.[Symbol.asyncDispose]()));
  await sandbox?.stop();
});

it('by control and by doctor: of two installations in it only one works', async () => {
  if (!one || !other) return expect.fail('no fixtures');
  const CONTROL_GROUP_ID = `${one.prefix}-shared`;
  const urls = { provider: sandbox.url, publicUrl: 'http://127.0.0.1:9' };
  await one.control(urls, { CONTROL_GROUP_ID });
  // A rolling upgrade to another TOPIC_PREFIX begins like this too: control that waited for the other would wait for ever.
  const second = await other.control(urls, { CONTROL_GROUP_ID });
  const why = new RegExp(`has a member at [^ ]+ that reads ${one.topic('commands')}, and only one`);
  await until('it is logged', async () => second.lines.some(({ msg }) => why.test(String(msg))));
  const { exitCode, out } = await cli({ ...other.env, CONTROL_GROUP_ID }, 'doctor', '--json');
  const findings = JSON.parse(out) as { check: string; state: string; finding: string }[];
  expect([exitCode, findings.find(({ check }) => check === 'CONTROL_GROUP_ID')]).toEqual([
    1,
    expect.objectContaining({ state: 'FAULT', finding: expect.stringMatching(why) }),
  ]);
});
