import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { cli, cliUntil } from '../support/cli.ts';
import { type ScriptedS3, startScriptedS3 } from '../support/object-store/scripted-s3.ts';
import { ReceiverFixture } from '../support/receiver-fixture.ts';
import { postSigned } from '../support/sign.ts';

let s3: ScriptedS3;
let receiver: ReceiverFixture;
let env: Record<string, string | undefined>;

beforeAll(async () => {
  s3 = await startScriptedS3();
  // Of commands that run in this process: the SDK's chain reads the process's own environment.
  Object.assign(process.env, s3.env);
  const stack = { brokers: inject('brokers'), registryUrl: inject('registryUrl') };
  receiver = await ReceiverFixture.make(stack, { ...s3.env, BODY_STORE_DEADLINE_MS: '2000' });
  env = { ...receiver.fixture.env, ...s3.env };
}, 240_000);

afterEach(() => {
  s3.answer = () => undefined;
});

afterAll(async () => {
  await receiver?.[Symbol.asyncDispose]();
  await s3?.[Symbol.asyncDispose]();
});

/** Larger than a record may be. */
const messageOf = (entityId: string) =>
  JSON.stringify({ type: 'payment-status', entityId, padding: 'x'.repeat(950_000) });

async function post(entityId: string, url = receiver.ingress.url) {
  const { status, text } = await postSigned(`${url}/webhooks/ledger-eu`, receiver, messageOf(entityId));
  return { status, ...(JSON.parse(text) as { eventId?: string; stored?: string }) };
}

describe('hookline spool drain', () => {
  it('says why it does not go on while the object store denies, once', async () => {
    const dir = join(receiver.fixture.dir, 'spool');
    const ingress = await receiver.fixture.ingress({ ...s3.env, SPOOL_DIR: dir });
    s3.answer = ({ method }) => (method === 'PUT' ? { status: 403, code: 'AccessDenied' } : undefined);
    for (const entity of ['denied-a', 'denied-b'])
      expect((await post(entity, ingress.url)).stored).toBe('spool');
    await ingress.process.stop();
    const { exitCode, notes } = await cliUntil(
      AbortSignal.timeout(6_000),
      ...([env, 'spool', 'drain', '--dir', dir] as const),
    );
    expect(exitCode).toBe(1);
    expect(notes.split('\n').filter((line) => line.startsWith('Waiting for the object store'))).toEqual([
      expect.stringMatching(/403: AccessDenied.*allow s3:PutObject and s3:GetObject/),
    ]);
    s3.answer = () => undefined;
    expect(await cli(env, 'spool', 'drain', '--dir', dir)).toMatchObject({
      exitCode: 0,
      out: '2 deliveries drained, none left',
    });
  });
});

describe('hookline doctor', () => {
  it('finds a fault in a lifecycle rule that deletes everything tomorrow', async () => {
    const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
    s3.lifecycle = `<LifecycleConfiguration><Rule><ID>purge</ID><Status>Enabled</Status><Filter/><Expiration><Date>${tomorrow}T00:00:00.000Z</Date></Expiration></Rule></LifecycleConfiguration>`;
    const { exitCode, out } = await cli(env, 'doctor', '--json');
    expect(exitCode).toBe(1);
    const findings: { check: string }[] = JSON.parse(out);
    expect(findings.filter(({ check }) => check.startsWith('object'))).toMatchObject([
      { check: 'object store', state: 'ok' },
      { check: 'object retention', state: 'FAULT', finding: expect.stringContaining(`from ${tomorrow} on`) },
    ]);
  });

  it('compares a rule with retention.ms and segment.ms of the topics', async () => {
    s3.lifecycle =
      '<LifecycleConfiguration><Rule><ID>month</ID><Status>Enabled</Status><Filter/><Expiration><Days>30</Days></Expiration></Rule></LifecycleConfiguration>';
    const { out } = await cli(env, 'doctor', '--json');
    expect(JSON.parse(out)).toContainEqual({
      ...{ check: 'object retention', state: 'warning' },
      finding: expect.stringContaining(
        `${receiver.fixture.topic('dead-letter')} keeps records for up to 37 days`,
      ),
      remedy: expect.stringContaining('at least 38 days'),
    });
  });
});
