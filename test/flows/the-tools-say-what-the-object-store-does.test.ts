import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { cli, cliUntil } from '../support/cli.ts';
import { type ScriptedS3, startScriptedS3 } from '../support/object-store/scripted-s3.ts';
import { ReceiverFixture } from '../support/receiver-fixture.ts';
import { postSigned } from '../support/sign.ts';
import { writeRecords } from '../support/write-records.ts';

let s3: ScriptedS3;
let receiver: ReceiverFixture;
let env: Record<string, string | undefined>;

beforeAll(async () => {
  s3 = await startScriptedS3();
  // Of commands that run in this process: the SDK's chain reads the process's own environment.
  Object.assign(process.env, s3.env);
  const stack = inject('stack');
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
      check: 'object retention',
      state: 'warning',
      finding: expect.stringContaining(
        `${receiver.fixture.topic('dead-letter')} keeps records for up to 37 days`,
      ),
      remedy: expect.stringContaining('at least 38 days'),
    });
  });
});

describe('hookline bodies check', () => {
  const check = (more: Record<string, string> = {}) => cli({ ...env, ...more }, 'bodies', 'check');
  const keyOf = (eventId?: string) =>
    [...s3.objects.keys()].find((key) => key.includes(String(eventId))) ?? expect.fail('no object');

  it('calls no object an orphan while the registry is unavailable, and ends with 3', async () => {
    await post('check-a');
    expect(await check()).toMatchObject({
      exitCode: 0,
      notes: expect.stringContaining('; 0 that no record'),
    });
    expect(await check({ TOPIC_PREFIX: 'paymnets' })).toMatchObject({
      exitCode: 3,
      notes: expect.stringContaining('topics are not in Kafka: is TOPIC_PREFIX right?'),
    });
    const { exitCode, notes } = await check({ SCHEMA_REGISTRY_URL: 'http://127.0.0.1:9' });
    expect(exitCode).toBe(3);
    expect(notes).toMatch(/payment-status\[\d\]@\d+: .*registry/);
    expect(notes).toMatch(/[1-9]\d* records could not be read/);
    expect(notes).not.toContain('that no record refers to');
  });

  it('reads topics of events and dead-letter records, and not what control keeps in its own', async () => {
    const claim = { key: '#epoch', value: '', headers: { 'hookline.epoch': '1', 'hookline.claim': 'c' } };
    await writeRecords(env, receiver.fixture.topic('subscriptions'), [claim]);
    const { exitCode, notes } = await check();
    expect([exitCode, notes]).toEqual([0, expect.not.stringContaining('could not be read')]);
  });

  it('finds the objects of an earlier prefix, and says which are in another bucket', async () => {
    expect(await check({ BODY_STORE: 's3://events/later' })).toMatchObject({ exitCode: 0 });
    s3.answer = ({ query, bucket }) =>
      bucket === 'other' && query.has('list-type') ? { status: 200, xml: '<ListBucketResult/>' } : undefined;
    const { exitCode, notes } = await check({ BODY_STORE: 's3://other/hookline' });
    expect([exitCode, notes]).toEqual([
      3,
      expect.stringMatching(/Objects elsewhere, not checked: [1-9]\d* in s3:\/\/events\. Set BODY_STORE/),
    ]);
  });

  it('calls an object no orphan that is stored while it runs', async () => {
    let isStored = false;
    s3.answer = async ({ query }) => {
      if (query.has('list-type') && !isStored) {
        isStored = true;
        await post('check-meanwhile');
      }
      return undefined;
    };
    expect((await check()).notes).toContain('; 0 that no record refers to');
    expect(isStored).toBe(true);
  });

  it('continues after a page that is answered 503, and ends with 3 where the list is denied', async () => {
    let pages = 0;
    s3.answer = ({ query }) =>
      query.has('list-type') && ++pages === 1 ? { status: 503, code: 'SlowDown' } : undefined;
    expect((await check()).exitCode).toBe(0);
    s3.answer = ({ query }) => (query.has('list-type') ? { status: 403, code: 'AccessDenied' } : undefined);
    expect(await check()).toMatchObject({ exitCode: 3, notes: expect.stringContaining('AccessDenied') });
  });

  it('ends with 1 where an object is missing, and tells old orphans from those whose records may still come', async () => {
    const key = keyOf((await post('check-lost')).eventId);
    s3.objects.delete(key);
    const orphan = { bytes: Buffer.from('{}'), sha256: '' };
    const folder = `hookline/${receiver.fixture.topic('payment-status')}`;
    s3.objects.set(`${folder}/old.json`, { ...orphan, modifiedAt: new Date('2026-01-01') });
    s3.objects.set(`${folder}/new.json`, { ...orphan, modifiedAt: new Date() });
    s3.objects.set('hookline/ledger.payment-status/a.json', {
      ...orphan,
      modifiedAt: new Date('2026-01-01'),
    });
    const { exitCode, out, notes } = await cli(env, 'bodies', 'check', '--json');
    expect([exitCode, JSON.parse(out)]).toMatchObject([
      1,
      [{ finding: 'missing', object: `s3://events/${key}` }],
    ]);
    expect(notes).toContain('2 that no record refers to (4 bytes): harmless');
    expect(notes).toContain('1 of them are younger than 10 minutes');
    expect(notes).toContain('keep them');
    expect(notes).toContain(': 1 in ledger.payment-status.');
  });
});
