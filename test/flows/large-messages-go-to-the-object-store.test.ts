import { createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { cli, cliJson } from '../support/cli.ts';
import { type RunningStore, startS3Mock } from '../support/object-store/s3-bucket.ts';
import { ReceiverFixture, receiptOf } from '../support/receiver-fixture.ts';
import { postSigned } from '../support/sign.ts';
import { setTopicBytes } from '../support/topic-config.ts';
import { until } from '../support/until.ts';

/** What many managed clusters allow, and Kafka's own default. */
const TOPIC_BYTES = 1_048_588;

let store: RunningStore;
let receiver: ReceiverFixture;
let url: string;
let env: Record<string, string | undefined>;

beforeAll(async () => {
  store = await startS3Mock();
  // Of commands that run in this process: the SDK's chain reads the process's own environment.
  Object.assign(process.env, store.env);
  receiver = await ReceiverFixture.make(inject('stack'), { ...store.env, BODY_STORE_DEADLINE_MS: '6000' });
  url = `${receiver.ingress.url}/webhooks/ledger-eu`;
  env = { ...receiver.fixture.env, ...store.env };
  for (const topic of ['payment-status', 'unclassified', 'dead-letter'])
    await setTopicBytes(env, receiver.fixture.topic(topic), TOPIC_BYTES);
}, 240_000);

afterAll(async () => {
  await receiver?.[Symbol.asyncDispose]();
  await store?.[Symbol.asyncDispose]();
});

type Reference = { uri: string; bytes: number; sha256: string; omitted: string[] };
type Event = { eventId: string; source: string | null; sourceRef: Reference | null; status: string | null };

async function eventOf(eventId: string, topic = 'payment-status') {
  const found = (await receiver.fixture.read(topic)).find(({ record }) => record?.eventId === eventId);
  return (found?.record ?? expect.fail(`no event ${eventId}`)) as Event;
}

/** The object as anybody else would fetch it. S3Mock checks no signatures. */
async function objectAt(uri: string): Promise<Buffer> {
  const response = await fetch(`${store.endpoint}/${uri.slice('s3://'.length)}`);
  return Buffer.from(await response.arrayBuffer());
}

const sha256 = (bytes: string | Buffer) => createHash('sha256').update(bytes).digest('hex');

/** A message of so many bytes. */
const messageOf = (entityId: string, bytes: number) => {
  const message = { type: 'payment-status', entityId, payload: { status: 'ACCC' }, padding: '' };
  return JSON.stringify({ ...message, padding: 'x'.repeat(bytes - JSON.stringify(message).length) });
};

const post = async (body: string | Buffer) => {
  const answer = await postSigned(url, receiver, body);
  return { ...answer, ...(JSON.parse(answer.text) as { eventId?: string; stored?: string; error?: string }) };
};

describe('an event that does not fit its record', () => {
  it.each([
    ['small enough for the main thread', 950_000, false],
    ['of 3 MB, sealed', 3_000_000, true],
  ])('%s is typed in its topic, and its message is in the object store', async (_, sizeBytes, sealed) => {
    const execution = await receiver.trigger1({ event: 'payment-status', sizeBytes, sealed });
    expect([execution.status, receiptOf(execution).stored]).toEqual([200, 'kafka']);
    const { eventId } = receiptOf(execution);
    const { source, sourceRef, status } = await eventOf(eventId);
    expect([source, status]).toEqual([null, 'ACCC']);
    expect(sourceRef).toMatchObject({
      bytes: Buffer.byteLength(execution.sentBody),
      sha256: sha256(execution.sentBody),
    });
    const today = new Date().toISOString().slice(0, 10).replaceAll('-', '/');
    const topic = receiver.fixture.topic('payment-status');
    expect(sourceRef?.uri).toBe(`s3://events/hookline/${topic}/${today}/${eventId}.json`);
    expect((await objectAt(String(sourceRef?.uri))).toString()).toBe(execution.sentBody);
  });

  it('is the same object when it is sent again', async () => {
    const body = messageOf('again', 1_500_000);
    const first = await post(body);
    const second = await post(body);
    expect([first.status, second.status, second.eventId]).toEqual([200, 200, first.eventId]);
    const events = (await receiver.fixture.read('payment-status')).filter(
      ({ record }) => record?.eventId === first.eventId,
    );
    expect(events.map(({ record }) => (record as Event).sourceRef?.uri)).toHaveLength(2);
    expect(new Set(events.map(({ record }) => (record as Event).sourceRef?.uri)).size).toBe(1);
  });

  it('of an unknown type refers to its message too', async () => {
    const body = JSON.stringify({ type: 'unheard-of', text: 'x'.repeat(1_000_000) });
    const { eventId = '' } = await post(body);
    expect((await eventOf(eventId, 'unclassified')).sourceRef?.sha256).toBe(sha256(body));
  });
});

describe('a body that becomes a dead-letter record', () => {
  it('is in the object store where it does not fit, can be read, and is redriven from there', async () => {
    const body = Buffer.concat([Buffer.from('{"type":'), randomBytes(1_300_000)]);
    const { status, eventId } = await post(body);
    expect(status).toBe(200);
    const [listed] = await cliJson<{ at: string; bytes: number }[]>(
      env,
      'dlq',
      'list',
      '--filter',
      `id=${eventId}`,
    );
    expect(listed?.bytes).toBe(body.length);
    const file = join(receiver.fixture.dir, 'body');
    await cli(env, 'dlq', 'show', String(listed?.at), '--body', file);
    expect(readFileSync(file).equals(body)).toBe(true);
    const { out, exitCode } = await cli(env, 'dlq', 'redrive', '--filter', `id=${eventId}`, '--json');
    expect([exitCode, JSON.parse(out)]).toMatchObject([
      1,
      [{ outcome: 'dead-lettered', code: 'UNPARSABLE' }],
    ]);
  });
});

describe('the tools', () => {
  it('fetch messages, verify them, and hide them unless asked', async () => {
    const body = messageOf('fetched', 1_000_000);
    const { eventId } = await post(body);
    const tail = async (...options: string[]) => {
      const { out } = await cli(
        ...([
          env,
          'tail',
          'payment-status',
          '--from-beginning',
          '--key',
          'fetched',
          '--limit',
          '1',
          '--json',
        ] as const),
        ...options,
      );
      return JSON.parse(out).value as Event & { fetched?: string };
    };
    expect(await tail('--fetch', '--reveal')).toMatchObject({ eventId, source: body, fetched: 'verified' });
    expect(await tail('--fetch')).toMatchObject({
      source: expect.stringMatching(/^hidden \(PII, 1000000 bytes\)/),
      fetched: 'verified',
    });
    expect((await tail('--reveal')).source).toBeNull();
  });

  it('find objects that are missing, and count those that nobody refers to', async () => {
    const { eventId = '' } = await post(messageOf('lost', 1_000_000));
    const uri = String((await eventOf(eventId)).sourceRef?.uri);
    const orphan = `${uri.slice('s3://'.length, uri.lastIndexOf('/'))}/orphan.json`;
    await fetch(`${store.endpoint}/${orphan}`, { method: 'PUT', body: '{}' });
    expect((await cli(env, 'bodies', 'check', '--verify')).exitCode).toBe(0);
    await fetch(`${store.endpoint}/${uri.slice('s3://'.length)}`, { method: 'DELETE' });
    const { exitCode, out, notes } = await cli(env, 'bodies', 'check', '--json');
    expect([exitCode, JSON.parse(out)]).toMatchObject([1, [{ finding: 'missing', object: uri }]]);
    expect(notes).toContain('1 that no record refers to');
  });

  it('try a write and a read', async () => {
    const findings = await cliJson<{ check: string; state: string }[]>(env, 'doctor').catch(() => []);
    const { out } = await cli(env, 'doctor', '--json');
    const all = findings.length > 0 ? findings : (JSON.parse(out) as { check: string; state: string }[]);
    expect(all.find(({ check }) => check === 'object store')).toMatchObject({ state: 'ok' });
    const refused = await cli({ ...env, BODY_STORE: 's3://no-such-bucket/x' }, 'doctor', '--json');
    expect(JSON.parse(refused.out)).toContainEqual(
      expect.objectContaining({
        check: 'object store',
        state: 'FAULT',
        remedy: 'create the bucket, or correct BODY_STORE',
      }),
    );
  });
});

describe('while the object store is unavailable', () => {
  it('without a spool, events that need it are answered 503 within the deadline, and others are stored', async () => {
    store.freeze();
    try {
      const answers = await Promise.all([
        post(messageOf('down-a', 950_000)),
        post(messageOf('down-b', 3_000_000)),
        post(messageOf('down-c', 500)),
      ]);
      expect(answers.map(({ status, error, stored }) => [status, error ?? stored])).toEqual([
        [503, 'BODY_STORE_UNAVAILABLE'],
        [503, 'BODY_STORE_UNAVAILABLE'],
        [200, 'kafka'],
      ]);
      expect(answers[0]?.retryAfter).toMatch(/^\d+$/);
      expect(await receiver.ingress.process.metrics()).toMatch(/^hookline_body_store_available 0$/m);
    } finally {
      store.resume();
    }
    await until(
      'the store is used again',
      async () => (await post(messageOf('down-a', 950_000))).status === 200,
      20_000,
    );
  });

  it('with a spool, they wait there, and later ones of their keys behind them', async () => {
    const { fixture } = receiver;
    const ingress = await fixture.ingress({
      ...store.env,
      BODY_STORE_DEADLINE_MS: '1500',
      SPOOL_DIR: join(fixture.dir, 'spool'),
    });
    const send = async (body: string) => {
      const answer = await postSigned(`${ingress.url}/webhooks/ledger-eu`, receiver, body);
      return [answer.status, (JSON.parse(answer.text) as { stored?: string }).stored];
    };
    await store.kill();
    expect(await send(messageOf('held-a', 950_000))).toEqual([200, 'spool']);
    expect(await send(messageOf('held-b', 3_000_000))).toEqual([200, 'spool']);
    expect(await send(messageOf('held-a', 500))).toEqual([200, 'spool']);
    expect(await send(messageOf('held-b', 501))).toEqual([200, 'spool']);
    expect(await send(messageOf('free', 500))).toEqual([200, 'kafka']);
    await store.start();
    await ingress.process.logged('the spool is drained', 110_000);
    const sizes = (await receiver.fixture.read('payment-status'))
      .filter(({ key }) => key?.startsWith('held-'))
      .map(({ key, record }) => {
        const { source, sourceRef } = record as Event;
        return `${key} ${sourceRef?.bytes ?? source?.length}`;
      });
    expect(sizes.filter((one) => one.startsWith('held-a'))).toEqual(['held-a 950000', 'held-a 500']);
    expect(sizes.filter((one) => one.startsWith('held-b'))).toEqual(['held-b 3000000', 'held-b 501']);
    await ingress.process.stop();
  }, 150_000);
});

describe('a store that refuses', () => {
  it('keeps ingress from being ready, and says why', async () => {
    const ingress = receiver.fixture.start('src/ingress/main.ts', {
      ...store.env,
      BODY_STORE: 's3://no-such-bucket/x',
    });
    const admin = await ingress.adminUrl();
    const reasons = await until(
      'readiness says why',
      async () => {
        const { reasons } = (await (await fetch(`${admin}/readyz`)).json()) as {
          reasons: { start?: string };
        };
        return reasons.start?.includes('BODY_STORE_REFUSED') ? reasons.start : null;
      },
      30_000,
    );
    expect(reasons).toContain('NoSuchBucket');
    await ingress.stop();
  });
});
