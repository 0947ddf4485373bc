import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { connectKafka, loadConfig } from '../../src/cli/shell/connections.ts';
import { nodeSource } from '../../src/config/env.ts';
import { openDeadLetterTopic } from '../../src/dead-letters/dead-letter-topic.ts';
import { cli, cliJson } from '../support/cli.ts';
import { ENCRYPTION_KEY, ReceiverFixture, receiptOf } from '../support/receiver-fixture.ts';
import { postSigned } from '../support/sign.ts';
import { setTopicBytes } from '../support/topic-config.ts';
import { asAdmin } from '../support/topic-reader.ts';

type Listed = {
  at: string;
  stage: string;
  code: string;
  ref: string;
  eventId: string;
  bytes: number;
  parts: number;
  missing: number[];
  state: string;
  redriven: { at: string; to: string } | null;
  redrives: number;
  dismissed: Dismissed | null;
};
type Dismissed = { at: string; by: string; reason: string };
type Redriven = { at: string; outcome: string; eventId: string; to: string; code: string | null };

let receiver: ReceiverFixture;
let url: string;
/** Of the operator, who has another layout of secrets than ingress while a key is missing. */
let env: Record<string, string | undefined>;

async function start() {
  receiver = await ReceiverFixture.make(inject('stack'));
  url = `${receiver.ingress.url}/webhooks/ledger-eu`;
  env = receiver.fixture.env;
}

beforeAll(start);

afterAll(() => receiver[Symbol.asyncDispose]());

const list = (...filter: string[]) =>
  cliJson<Listed[]>(env, 'dlq', 'list', ...filter.flatMap((one) => ['--filter', one]));

async function redrive(...args: string[]) {
  const { exitCode, out, notes } = await cli(env, 'dlq', 'redrive', '--json', ...args);
  return { exitCode, notes, outcomes: JSON.parse(out || '[]') as Redriven[] };
}

/** The bytes that the provider sent. */
async function sentBytes(executionId: string): Promise<Buffer> {
  const path = `/_sandbox/executions/${executionId}`;
  const { bodyBase64 } = (await receiver.call('GET', path)) as { bodyBase64: string };
  return Buffer.from(bodyBase64, 'base64');
}

const eventsOf = async (topic: string, source: string) =>
  (await receiver.fixture.read(topic, 0)).filter(({ record }) => record?.source === source);

const only = <T>(items: readonly T[]): T =>
  items.length === 1 ? (items[0] as T) : expect.fail(`${items.length} items: ${JSON.stringify(items)}`);

describe('a webhook whose key is missing', () => {
  let at: string;
  let sent: Buffer;
  let message: string;

  beforeAll(async () => {
    const loseKey = () => receiver.fixture.secrets('ledger-eu', { 'encryption-key': 'n'.repeat(32) });
    loseKey();
    // The key that ingress has now opens nothing, as soon as it has taken that up.
    for (let stage = ''; stage !== 'DECRYPT'; ) {
      const execution = await receiver.trigger1({ event: 'payment-status', sealed: true });
      const deadLetters = await receiver.fixture.read('dead-letter', 0);
      const deadLetter = deadLetters.find(({ key }) => key === receiptOf(execution).eventId);
      stage = deadLetter?.headers['__connect.errors.stage'] ?? '';
      at = `${deadLetter?.partition}:${deadLetter?.offset}`;
      message = execution.sentBody;
      sent = await sentBytes(execution.id);
      // One in 256 sealed bodies begins with a brace, and is taken for malformed JSON.
      if (stage !== 'PARSE') continue;
      await receiver[Symbol.asyncDispose]();
      await start();
      loseKey();
    }
  });

  it('is listed, with what and why, and nothing of its body', async () => {
    const deadLetter = only(await list(`at=${at}`));
    expect(deadLetter).toMatchObject({
      at,
      stage: 'DECRYPT',
      code: 'UNDECRYPTABLE',
      ref: 'ledger-eu',
      bytes: sent.length,
      parts: 1,
      missing: [],
      state: 'open',
      redriven: null,
      redrives: 0,
    });
    const table = await cli(env, 'dlq', 'list');
    expect(table.exitCode).toBe(0);
    expect(table.out).toMatch(new RegExp(`${at} .* DECRYPT .* UNDECRYPTABLE .* ledger-eu .* open`));
    expect(await list('stage=PARSE')).toEqual([]);
    expect(only(await list('stage=PARSE,DECRYPT', 'ref=ledger-eu', 'since=1h', 'state=open')).at).toBe(at);
    expect(await list('until=1h')).toEqual([]);
    expect(only(await list(`id=${deadLetter.eventId}`)).at).toBe(at);
  });

  it('is shown with headers, cause and remedy; its bytes only when they are asked for, and still sealed', async () => {
    const shown = await cli(env, 'dlq', 'show', at);
    expect(shown.exitCode).toBe(0);
    expect(shown.out).toMatch(/cause +no encryption key of the subscription opens the body/);
    expect(shown.out).toContain('SECRETS_DIR/ledger-eu/encryption-key');
    expect(shown.out).toContain('hookline.media-type: octet-stream');
    expect(shown.bytes).toHaveLength(0);
    for (const secret of [receiver.signingSecret, ENCRYPTION_KEY, 'FIToFIPmtStsRpt', sent.toString('base64')])
      expect(shown.out).not.toContain(secret);
    expect((await cli(env, 'dlq', 'show', at, '--body')).bytes).toEqual(sent);
    const file = join(receiver.fixture.dir, 'body');
    expect((await cli(env, 'dlq', 'show', at, '--body', file)).exitCode).toBe(0);
    expect([readFileSync(file), statSync(file).mode & 0o777]).toEqual([sent, 0o600]);
    const again = await cli(env, 'dlq', 'show', at, '--body', file);
    expect([again.exitCode, again.notes]).toEqual([1, expect.stringContaining('EEXIST')]);
    const nothing = await cli(env, 'dlq', 'show', '0:999999');
    expect([nothing.exitCode, nothing.notes]).toEqual([
      1,
      expect.stringContaining('no dead-letter record 0:999999'),
    ]);
  });

  it('redriven before the key is there stays open as it is, and the redrive says which key is missing', async () => {
    for (const options of [['--dry-run'], []]) {
      const { exitCode, outcomes } = await redrive(...options);
      expect([exitCode, only(outcomes)]).toEqual([
        1,
        expect.objectContaining({
          at,
          outcome: 'refused',
          code: 'UNDECRYPTABLE',
          message: expect.stringContaining(`the key of its subscription, ${receiver.subscriptionId}, into`),
        }),
      ]);
      expect(only(await list())).toMatchObject({ at, stage: 'DECRYPT', state: 'open', redrives: 0 });
    }
  });

  it('once the key is there: in its topic, exact to the byte, under the id of the event, marked as redriven', async () => {
    receiver.fixture.secrets('ledger-eu', { 'encryption-key': `${'n'.repeat(32)}\n${ENCRYPTION_KEY}` });
    const dryRun = await redrive('--dry-run');
    expect([dryRun.exitCode, only(dryRun.outcomes)]).toMatchObject([0, { at, outcome: 'stored' }]);
    expect(await eventsOf('payment-status', message)).toEqual([]);
    const before = Date.now();
    const { exitCode, outcomes, notes } = await redrive();
    expect([exitCode, notes]).toEqual([0, expect.stringContaining('1 of 1: 1 stored.')]);
    const event = only(await eventsOf('payment-status', message));
    expect(only(outcomes)).toMatchObject({
      at,
      outcome: 'stored',
      eventId: event.record?.eventId,
      to: `${receiver.fixture.topic('payment-status')}[${event.partition}]@${event.offset}`,
    });
    expect(event.headers).toMatchObject({
      'hookline.redriven-from': `${receiver.fixture.topic('dead-letter')}/${at}`,
      'hookline.redrive-count': '1',
      ce_id: event.record?.eventId,
    });
    expect(Number(event.headers['hookline.redriven-at'])).toBeGreaterThanOrEqual(before);
    expect(Number(event.record?.receivedAt)).toBeLessThan(before);
    // The very message as it comes by itself has the same id.
    const plain = await postSigned(url, receiver, message);
    expect(JSON.parse(plain.text).eventId).toBe(event.record?.eventId);
    const [direct] = (await eventsOf('payment-status', message)).filter(
      ({ offset }) => offset !== event.offset,
    );
    expect(direct?.headers).not.toHaveProperty('hookline.redriven-at');
  });

  it('is not redriven again by accident, but on purpose', async () => {
    const count = async () => (await eventsOf('payment-status', message)).length;
    const before = await count();
    const { exitCode, outcomes, notes } = await redrive();
    expect([exitCode, outcomes, notes]).toEqual([0, [], expect.stringContaining('1 skipped')]);
    expect(await count()).toBe(before);
    const again = await redrive('--again', '--filter', `at=${at}`);
    expect([again.exitCode, only(again.outcomes).outcome]).toEqual([0, 'stored']);
    expect(await count()).toBe(before + 1);
  });
});

describe('a webhook that nobody needs', () => {
  const dismiss = (...args: string[]) => cli(env, 'dlq', 'dismiss', '--json', ...args);

  it('is dismissed with a reason and a name: no longer open, still there, redriven only on purpose', async () => {
    const message = '{ this is not JSON';
    expect((await postSigned(url, receiver, message)).status).toBe(200);
    const { at, eventId } = only(await list('stage=PARSE'));
    const unexplained = await cli(env, 'dlq', 'dismiss');
    expect([unexplained.exitCode, unexplained.notes]).toEqual([2, expect.stringContaining('--reason')]);
    const empty = await cli(env, 'dlq', 'dismiss', '--reason', ' ');
    expect([empty.exitCode, empty.notes]).toEqual([2, expect.stringContaining('--reason is missing')]);

    const reason = 'a test of the provider, confirmed by mail';
    const given = ['--reason', reason, '--by', 'Ada', '--filter', `id=${eventId}`];
    const dry = await dismiss(...given, '--dry-run');
    expect([dry.exitCode, only(JSON.parse(dry.out)), dry.notes]).toEqual([
      0,
      expect.objectContaining({ at, outcome: 'dismissed' }),
      expect.stringContaining('1 of 1: 1 would be dismissed.'),
    ]);
    expect(only(await list('stage=PARSE', 'state=open')).dismissed).toBeNull();
    const done = await dismiss(...given);
    expect([done.exitCode, only(JSON.parse(done.out))]).toEqual([
      0,
      expect.objectContaining({ at, outcome: 'dismissed' }),
    ]);

    expect(await list('stage=PARSE', 'state=open')).toEqual([]);
    expect(only(await list('state=dismissed'))).toMatchObject({
      at,
      state: 'dismissed',
      redriven: null,
      dismissed: { by: 'Ada', reason },
    });
    const shown = await cli(env, 'dlq', 'show', at);
    expect(shown.out).toMatch(new RegExp(`dismissed \\S+ by Ada: ${reason}`));
    expect((await cli(env, 'dlq', 'show', at, '--body')).bytes.toString()).toBe(message);
    const again = await dismiss(...given);
    expect([again.exitCode, again.notes]).toEqual([
      0,
      expect.stringContaining('redriven or dismissed before'),
    ]);
    expect((await redrive('--filter', `id=${eventId}`)).outcomes).toEqual([]);
    const purposely = await redrive('--again', '--dry-run', '--filter', `id=${eventId}`);
    expect(only(purposely.outcomes)).toMatchObject({ at, outcome: 'dead-lettered' });
  });
});

describe('a webhook larger than its topic takes', () => {
  it('lands in parts, is listed as one, and is redriven joined when the limit was raised', async () => {
    await setTopicBytes(env, receiver.fixture.topic('payment-status'), 1_000_000);
    await setTopicBytes(env, receiver.fixture.topic('dead-letter'), 600_000);
    const execution = await receiver.trigger1({
      event: 'payment-status',
      sealed: true,
      sizeBytes: 2_500_000,
    });
    expect(execution.status).toBe(200);
    const deadLetter = only(await list('stage=PRODUCE'));
    const sent = await sentBytes(execution.id);
    expect(deadLetter).toMatchObject({ state: 'open', bytes: sent.length, missing: [] });
    expect(deadLetter.parts).toBeGreaterThan(3);
    expect((await cli(env, 'dlq', 'show', deadLetter.at, '--body')).bytes).toEqual(sent);
    expect((await cli(env, 'dlq', 'show', deadLetter.at)).out).toContain(
      `raise max.message.bytes of ${receiver.fixture.topic('payment-status')}`,
    );
    const early = await redrive('--dry-run', '--filter', 'stage=PRODUCE');
    expect(only(early.outcomes)).toMatchObject({ outcome: 'dead-lettered', code: 'RECORD_TOO_LARGE' });

    await setTopicBytes(env, receiver.fixture.topic('payment-status'), 6_000_000);
    const { exitCode, outcomes } = await redrive('--filter', 'stage=PRODUCE');
    expect([exitCode, only(outcomes)]).toMatchObject([0, { at: deadLetter.at, outcome: 'stored' }]);
    const event = only(await eventsOf('payment-status', execution.sentBody));
    expect(event.record?.eventId).toBe(receiptOf(execution).eventId);
    expect(event.headers).toMatchObject({ 'hookline.redrive-count': '1' });
    expect(only(await list('stage=PRODUCE'))).toMatchObject({ at: deadLetter.at, state: 'redriven' });
  });

  it('with parts that retention deleted is listed as incomplete, and not redriven', async () => {
    await setTopicBytes(env, receiver.fixture.topic('payment-status'), 1_000_000);
    const execution = await receiver.trigger1({ event: 'payment-status', sizeBytes: 2_400_000 });
    const { eventId } = receiptOf(execution);
    const deadLetter = only(await list(`id=${eventId}`));
    const [partition, offset] = deadLetter.at.split(':').map(Number);
    const looked = await openDeadLetterTopic(
      connectKafka(loadConfig({ source: nodeSource(env) }, 'kafka')),
      receiver.fixture.prefix,
      { bodies: undefined, sealingKeys: undefined },
      new AbortController().signal,
    );
    const seen = (await looked.all()).filter(({ at }) => at === deadLetter.at);
    await asAdmin(env, async (admin) => {
      await admin.fetchTopicOffsets(receiver.fixture.topic('dead-letter'));
      await admin.deleteTopicRecords({
        topic: receiver.fixture.topic('dead-letter'),
        partitions: [{ partition: partition ?? 0, offset: String((offset ?? 0) + 2) }],
      });
    });
    // What was whole when it was looked at and is no more has no bytes: never fewer than all.
    expect([...(await looked.bodiesOf(seen))]).toEqual([
      [deadLetter.at, new Error('retention has deleted it')],
    ]);
    await looked.stop();
    const left = only(await list(`id=${eventId}`));
    expect(left).toMatchObject({ state: 'incomplete', missing: [1, 2], parts: deadLetter.parts });
    const { exitCode, outcomes } = await redrive('--filter', `id=${eventId}`);
    expect([exitCode, only(outcomes)]).toMatchObject([
      1,
      { outcome: 'refused', message: `parts 1, 2 of ${deadLetter.parts} missing` },
    ]);
    const body = await cli(env, 'dlq', 'show', left.at, '--body');
    expect([body.exitCode, body.bytes.length, body.notes]).toEqual([
      1,
      0,
      expect.stringContaining('incomplete'),
    ]);
  });
});
