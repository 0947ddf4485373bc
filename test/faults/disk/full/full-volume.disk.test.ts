import { execFileSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Stack } from '../../../stack/stack.ts';
import { startStack } from '../../../stack/start-stack.ts';
import { ReceiverFixture } from '../../../support/receiver-fixture.ts';
import { postSigned } from '../../../support/sign.ts';
import { until } from '../../../support/until.ts';

const VOLUME = 'size=16m,mode=700';
const BODY_BYTES = 20_000;
/** More than the volume takes. */
const MORE_THAN_FITS = 1_200;

let stack: Stack;
let receiver: ReceiverFixture;
let volume: string;
beforeAll(async () => {
  stack = await startStack({ env: { ...process.env, HOOKLINE_STACK: 'jvm' } });
  receiver = await ReceiverFixture.make(stack);
  volume = join(receiver.fixture.dir, 'volume');
  mkdirSync(volume);
  execFileSync('mount', ['-t', 'tmpfs', '-o', VOLUME, 'hookline', volume]);
});
afterAll(async () => {
  execFileSync('umount', ['--lazy', volume]);
  await receiver?.[Symbol.asyncDispose]();
  await stack?.stop();
});

let ingress: ReceiverFixture['ingress'];
let sent = 0;
const acked: string[] = [];
const answers: Record<string, number> = {};

/** Posts an event, and counts what came: its status, and where it was stored. */
async function post(): Promise<string> {
  const body = `{"type":"payment-status","entityId":"e-${sent % 3}","n":${sent++},"x":"${'x'.repeat(BODY_BYTES)}"}`;
  const { status, text, retryAfter } = await postSigned(`${ingress.url}/webhooks/ledger-eu`, receiver, body);
  const { stored, error } = JSON.parse(text) as { stored?: string; error?: string };
  if (status === 200) acked.push(body);
  else expect(retryAfter).toMatch(/^\d+$/);
  const answer = `${status} ${stored ?? error ?? text}`;
  answers[answer] = (answers[answer] ?? 0) + 1;
  return answer;
}

const admin = async (path: string) => fetch((await ingress.process.adminUrl()) + path);
const isDrained = async () => /^hookline_spool_in_use 0$/m.test(await (await admin('/metrics')).text());

/** As another program that writes to the same volume does it: to the last byte. */
function fillUp(path: string): void {
  const file = openSync(path, 'w');
  try {
    for (;;) writeSync(file, Buffer.alloc(65_536));
  } catch {
    // Full.
  } finally {
    closeSync(file);
  }
}

it('a volume of 16 MB that fills up while Kafka is unavailable: 503, then room again, and no 200 is lost', async () => {
  const kafka = stack.kafka?.nodes[0] ?? expect.fail('no cluster');
  ingress = await receiver.fixture.ingress({ SPOOL_DIR: join(volume, 'spool') });
  expect(await post()).toBe('200 kafka');

  await kafka.kill('SIGSTOP');
  for (let n = 0; n < MORE_THAN_FITS; n++) await post();
  expect(await post()).toBe('503 SPOOL_FULL');
  expect(answers['200 spool']).toBeGreaterThan(100);
  expect(await (await admin('/readyz')).text()).toContain('spool is full');
  // Now not even what is drained could be taken out, were there no reserve.
  fillUp(join(volume, 'foreign'));
  expect(await post()).toBe('503 SPOOL_FULL');

  await kafka.kill('SIGCONT');
  await until('the spool is drained', isDrained, 60_000);
  expect(await post()).toBe('200 kafka');
  fillUp(join(volume, 'foreign'));
  await kafka.kill('SIGSTOP');
  expect(await post()).toBe('503 SPOOL_FULL');
  rmSync(join(volume, 'foreign'));
  await until('there is room again', async () => (await post()) === '200 spool', 20_000);
  await kafka.kill('SIGCONT');
  await until('the spool is drained', isDrained, 60_000);

  const records = await receiver.fixture.read('payment-status', acked.length);
  const sources = new Set(records.map(({ record }) => String(record?.source)));
  expect(acked.filter((body) => !sources.has(body))).toEqual([]);
  console.log(`16 MB: ${JSON.stringify(answers)}, ${acked.length} acknowledged, all of them stored`);
}, 300_000);
